// What is drawn and listed follows from what the server says.

import assert from "node:assert/strict";
import test from "node:test";
import type { Counter, Form, Link, RunView } from "../src/api/types.ts";
import { fieldName, fieldValue, wordOf } from "../src/fields.ts";
import { bandsOf } from "../src/figures/bands.ts";
import { counterpart, firstLook, treeOf } from "../src/figures/counters.ts";
import { livePanels } from "../src/figures/live.ts";
import { located, offsetOf } from "../src/figures/located.ts";
import { stagesOf } from "../src/figures/stages.ts";
import { writtenRate, writtenSize, writtenTime } from "../src/figures/written.ts";
import { type Draft, orderOf, sorted, speaksOf } from "../src/order.ts";
import { names, recorded } from "./recorded.ts";
import { sources } from "./sources.ts";

test("a field of a network file has a name and a value", () => {
  assert.equal(fieldName("vlan_tags"), "VLAN tags");
  assert.equal(fieldValue(63_756), "63,756");
  assert.equal(fieldValue(null), "–");
  assert.equal(fieldValue([true, { bytes: 1500, icmp: false }]), "yes, bytes 1,500, ICMP no");
});

test("a link is drawn in the order in which frames meet its parts", () => {
  const police = { cir: "40M", cbs: "64K", eir: 0, ebs: 0, color_aware: false, exceed: "drop" };
  const link = { delay: "27ms", line_rate: "1G", police, queue: { packets: 4000 }, loss: null };
  const stages = stagesOf(link);
  assert.deepEqual(
    stages.map((stage) => [stage.name, ...stage.captions]),
    [
      ["queue", "4,000 packets"],
      ["line rate", "1 Gbit/s", "layer 1"],
      ["policer", "CIR 40 Mbit/s", "CBS 64 kB"],
      ["delay", "27 ms"],
    ],
  );
});

test("classes wait where the queue is that they share", () => {
  const names = (link: Link) => stagesOf(link).map((stage) => stage.name);
  const link = { line_rate: "1G", priority: { strict: ["EF", "others"] } };
  assert.deepEqual(names(link), ["priority", "line rate"]);
  const shaped = { ...link, shape: { rate: "10M", burst: "10K" } };
  assert.deepEqual(names(shaped), ["line rate", "priority", "shaper"]);
});

test("what a link has that the page does not know is shown by its name", () => {
  assert.deepEqual(stagesOf({ polarity: "odd" }), [
    { symbol: "other", name: "polarity", captions: ["odd"] },
  ]);
});

test("quantities of a file are said in full, and others as they are written", () => {
  assert.equal(writtenRate("9.5Gbit/s"), "9.5 Gbit/s");
  assert.equal(writtenRate("40M@l2"), "40 Mbit/s (l2)");
  assert.equal(writtenRate(64_000), "64 kbit/s");
  assert.equal(writtenSize("64Ki"), "65.536 kB");
  assert.equal(writtenSize("1M"), "1 MB");
  assert.equal(writtenTime("72.5ms"), "72.5 ms");
  assert.equal(writtenTime("50us"), "50 µs");
  assert.equal(writtenTime("2 fortnights"), "2 fortnights");
});

test("an error is found at its line and column", () => {
  assert.deepEqual(located("12:7: no such key"), { line: 12, column: 7, sentence: "no such key" });
  assert.deepEqual(located("no links"), { line: null, column: 1, sentence: "no links" });
  assert.equal(offsetOf("ab\ncde\n", 2, 3), 5);
});

test("simulations, failed self-checks and broken-off runs have bands", () => {
  const words = (far: string, status: string, ok = true): string[] => {
    const result = { far: { name: far }, verdict: { status } };
    return bandsOf({ ...result, validity: { ok } }).map((band) => band.word);
  };
  assert.deepEqual(words("far.example", "pass"), []);
  assert.deepEqual(words("simulation", "pass"), ["SIMULATION"]);
  assert.deepEqual(words("far.example", "invalid", false), ["INVALID"]);
  assert.deepEqual(words("far.example", "aborted"), ["ABORTED"]);
  assert.deepEqual(words("simulation", "aborted", false), ["SIMULATION", "INVALID", "ABORTED"]);
});

test("a recorded run has the band of a simulation where it was simulated", () => {
  for (const name of names) {
    const isMarked = bandsOf(recorded(name)).some((band) => band.word === "SIMULATION");
    assert.equal(isMarked, name.endsWith("-sim"), name);
  }
});

test("the page knows neither the kinds of steps nor their figures: the server's blocks do", () => {
  const steps = names.flatMap((name) => recorded(name).steps);
  const kinds = new Set(steps.map((step) => wordOf(step, "name")));
  const figures = new Set(steps.flatMap(Object.keys).filter((field) => UNIT.test(field)));
  assert.ok(kinds.has("path_mtu") && figures.has("ideal_bps"));
  for (const [file, text] of sources()) {
    for (const kind of kinds) {
      assert.ok(!new RegExp(`^\\s*${kind}: \\{`, "m").test(text), `${kind} in ${file}`);
    }
    // How the fields of a plan are shown follows from their names, some of which steps have too.
    for (const figure of file.endsWith("/fields.ts") ? [] : figures) {
      assert.ok(!text.includes(`"${figure}"`), `${figure} in ${file}`);
    }
  }
});

const UNIT = /_(bps|bytes|fps|pps|cps|percent|ms|us|ns|s)$/;

function counter(id: string, trial: string, name: string, unit = "bit/s"): Counter {
  const [from_s, until_s, end] = [0, 1, "near" as const];
  return {
    id,
    trial,
    flow: "TCP",
    end,
    counter: name,
    unit,
    from_s,
    until_s,
    min: 0,
    max: 1,
    last: 1,
  };
}

test("counters hang below their trials, and the first look is at a throughput trial", () => {
  const all = [
    counter("0/0/a", "walk", "payload received"),
    counter("1/0/a", "TCP throughput, upload", "payload received"),
    counter("1/0/b", "TCP throughput, upload", "RTT", "ms"),
  ];
  assert.deepEqual(
    treeOf(all, "").map((trial) => trial.name),
    ["walk", "TCP throughput, upload"],
  );
  assert.equal(treeOf(all, "rtt upload")[0]?.flows[0]?.counters.length, 1);
  assert.deepEqual(firstLook(all), ["1/0/a", "1/0/b"]);
});

test("of equal trials in two runs, each has its own counterpart", () => {
  const own = [counter("0/0/a", "bottleneck", "sent"), counter("1/0/a", "bottleneck", "sent")];
  const others = [counter("4/0/a", "bottleneck", "sent"), counter("6/0/a", "bottleneck", "sent")];
  assert.equal(counterpart(own[1] as Counter, own, others)?.id, "6/0/a");
  assert.equal(counterpart(counter("0/0/x", "walk", "sent"), own, others), null);
});

const option = (name: string, more: object = {}): Form["groups"][0]["options"][0] => ({
  name,
  flag: `--${name}`,
  value_name: "RATE",
  help: `about ${name}`,
  default: null,
  choices: [],
  many: false,
  positional: false,
  required: false,
  ...more,
});
const form: Form = {
  name: "burst",
  title: "Bursts",
  about: "",
  can_simulate: true,
  groups: [
    {
      heading: "Method",
      options: [option("period"), option("cir"), option("need", { required: true })],
    },
  ],
};
const draft: Draft = {
  method: "burst",
  where: "sim",
  network: "ideal",
  yaml: "",
  address: "",
  key: "",
  values: { burst: { cir: [" 40M "], need: ["x"], period: [""] } },
  labels: { site: " Hamburg ", order: "" },
};

test("what is needed and what matters comes first", () => {
  const { first, groups } = sorted(form);
  assert.deepEqual(
    first.map((one) => one.name),
    ["need", "cir"],
  );
  assert.deepEqual(
    groups.flatMap((group) => group.options.map((one) => one.name)),
    ["period"],
  );
  assert.ok(speaksOf(option("cir"), "ABOUT cir") && !speaksOf(option("cir"), "cbs"));
});

test("an order holds what was filled in and nothing else", () => {
  assert.deepEqual(orderOf(draft, form), {
    method: "burst",
    target: { kind: "sim", network: "ideal" },
    options: [
      { name: "cir", value: "40M" },
      { name: "need", value: "x" },
    ],
    labels: { site: "Hamburg" },
  });
});

test("there is no order without a target or without what a method needs", () => {
  assert.equal(orderOf({ ...draft, where: "far" }, form), null);
  assert.equal(orderOf({ ...draft, values: {} }, form), null);
});

function seen(kind: "tcp" | "frames", rtt_ms: number | null): RunView {
  const series = {
    t_s: [0, 0.5],
    dt_s: [0.5, 0.5],
    sent_bps: [2, 2],
    received_bps: [1, 1],
    retransmitted_bps: [0, 0],
    rtt_ms: [rtt_ms, rtt_ms],
    cwnd_bytes: [null, null],
    active_connections: kind === "tcp" ? [1, 1] : [null, null],
  };
  const layer = kind === "tcp" ? 4 : 2;
  const about = { connections: 1, dscp: 0, label: "upload" };
  const flow = { direction: "upload" as const, kind, layer, ...about };
  const steady_s: [number, number] = [0, 1];
  const times = { started_s: 3, lasts_s: 1, steady_s, finished: true, summary: null };
  const received_bps = { download: null, upload: 1 };
  const head = { id: "r1", command: "", method: "test", across: "", started: "" };
  return {
    head: { ...head, state: "ended", exit_code: 0, verdict: "pass", result_id: null, error: null },
    elapsed_s: 4,
    trials: [{ name: "a trial", ...times, received_bps, flows: [flow], series: [series] }],
    lines: [],
  };
}

test("a trial is drawn at its time, and nothing is drawn of what nobody knows", () => {
  const titles = (view: RunView): string[] => livePanels(view).map((panel) => panel.title);
  assert.deepEqual(titles(seen("tcp", 54)), [
    "Throughput, payload (l4)",
    "Retransmissions",
    "RTT",
    "Active connections",
  ]);
  assert.deepEqual(titles(seen("frames", null)), ["Throughput, frames (l2)"]);
  const [throughput] = livePanels(seen("tcp", 54));
  assert.deepEqual(throughput?.t_s, [3, 3.5, 4]);
  assert.deepEqual(
    throughput?.curves.map((curve) => [curve.name, curve.values]),
    [
      ["upload received", [1, 1, null]],
      ["upload sent", [2, 2, null]],
    ],
  );
});
