// The order that is being filled in: kept over a reload, without the secret of a far end.

import { LABELS, type Form, type Labels, type MethodOption, type Order } from "./api/types.ts";

export interface Draft {
  method: string;
  where: "lab" | "sim" | "far";
  /** Of a built-in network; empty means the network of one's own. */
  network: string;
  yaml: string;
  address: string;
  key: string;
  /** By method, then by option; a switch that is on is `true`. */
  values: Record<string, Record<string, string[]>>;
  labels: Labels;
}

const KEY = "fullpipe.draft";
const EMPTY: Draft = {
  method: "test",
  where: "lab",
  network: "metro-40m-cbs64k",
  yaml: "",
  address: "",
  key: "",
  values: {},
  labels: {},
};

export function kept(): Draft {
  try {
    return { ...EMPTY, ...(JSON.parse(sessionStorage.getItem(KEY) ?? "{}") as Partial<Draft>) };
  } catch {
    return EMPTY;
  }
}

export function keep(draft: Draft): void {
  const address = draft.address.split("#", 1)[0] ?? "";
  sessionStorage.setItem(KEY, JSON.stringify({ ...draft, key: "", address }));
}

/** What is asked of the server; `null` while something it cannot do without is missing. */
export function orderOf(draft: Draft, form: Form): Order | null {
  const target = targetOf(draft);
  const given = draft.values[form.name] ?? {};
  const offered = form.groups.flatMap((group) => group.options);
  const lacks = offered.some((option) => option.required && !isGiven(given[option.name]));
  if (!target || lacks) {
    return null;
  }
  const options = offered.flatMap((option) =>
    (given[option.name] ?? [])
      .filter((value) => value.trim() !== "")
      .map((value) => ({ name: option.name, value: value.trim() })),
  );
  return { method: form.name, target, options, labels: labelsOf(draft.labels) };
}

function targetOf(draft: Draft): Order["target"] | null {
  if (draft.where === "far") {
    const address = draft.address.trim();
    return address === "" ? null : { kind: "far", address, key: draft.key.trim() };
  }
  if (draft.network !== "") {
    return { kind: draft.where, network: draft.network };
  }
  return draft.yaml.trim() === "" ? null : { kind: draft.where, yaml: draft.yaml };
}

function labelsOf(labels: Labels): Labels {
  const given = LABELS.filter((name) => (labels[name] ?? "").trim() !== "");
  return Object.fromEntries(given.map((name) => [name, (labels[name] ?? "").trim()]));
}

export function isGiven(values: readonly string[] | undefined): boolean {
  return values?.some((value) => value.trim() !== "") ?? false;
}

/** The options that most runs are told, by method; the others stand behind them. */
const FIRST: Readonly<Record<string, readonly string[]>> = {
  test: ["cir", "duration", "connections", "window", "sender", "pass_throughput"],
  burst: ["cir", "cbs", "discover", "direction", "frames"],
  flow: ["udp", "bitrate", "time", "parallel", "reverse", "bidir", "profile", "classes"],
  rfc2544: ["tests", "frames", "direction", "search", "line_rate", "trial"],
  y1564: ["services", "step_time", "duration"],
  rfc7640: ["cir", "cbs", "direction", "runs"],
  run: ["plan", "set", "tags"],
  stress: ["connections", "ramp_up", "steady", "ramp_down"],
};

/** Headings that say more on this page than those of the command line. */
const HEADINGS: Readonly<Record<string, string>> = {
  "": "Addresses and chance",
  "iperf3://": "A stock iperf3 server as far end",
};

export interface Sorted {
  first: MethodOption[];
  groups: { heading: string; options: MethodOption[] }[];
}

/** The options of a method as the page has them: those that matter first, then the groups. */
export function sorted(form: Form): Sorted {
  const own = form.groups.map((group) => ({
    heading: HEADINGS[group.heading ?? ""] ?? group.heading ?? "",
    options: group.options.filter((option) => !LABELS.some((label) => label === option.name)),
  }));
  const all = own.flatMap((group) => group.options);
  const names = FIRST[form.name] ?? [];
  const named = names.flatMap((name) => all.filter((option) => plain(option.name) === name));
  const first = [...all.filter((option) => option.required && !named.includes(option)), ...named];
  const groups = own
    .map((group) => ({
      ...group,
      options: group.options.filter((option) => !first.includes(option)),
    }))
    .filter((group) => group.options.length > 0);
  return { first, groups };
}

function plain(name: string): string {
  return name.replaceAll("-", "_");
}

/** Whether an option has to do with the words that are looked for. */
export function speaksOf(option: MethodOption, wanted: string): boolean {
  const text = `${option.name} ${option.flag} ${option.help} ${option.choices.join(" ")}`;
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  return words.every((word) => text.toLowerCase().includes(word));
}
