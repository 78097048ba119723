// Fields of a result: what they are called and how their values are shown, by the unit in the name.

import { UNKNOWN, duration, fixed, grouped, percent, rate, short } from "./quantity.ts";
import type { Fields } from "./api/types.ts";

/** Names that say less than people do. */
const WORDS: Readonly<Record<string, string>> = {
  bsa: "BSA",
  bdp: "bandwidth-delay product",
  cbs: "CBS",
  cir: "CIR",
  dscp: "DSCP",
  ebs: "EBS",
  eir: "EIR",
  fdv: "frame delay variation",
  flr: "frame loss ratio",
  fps: "frames per second",
  ftd: "frame transfer delay",
  ip: "IP",
  ir: "information rate",
  l1: "(l1)",
  l2: "(l2)",
  l3: "(l3)",
  l4: "(l4)",
  mss: "MSS",
  mtu: "MTU",
  rfc2544: "RFC 2544",
  rfc6349: "RFC 6349",
  rfc7640: "RFC 7640",
  rtt: "RTT",
  rx: "received",
  tcp: "TCP",
  tx: "sent",
  ulr: "usage of the line",
  y1564: "Y.1564",
};

const UNITS = ["bps", "bytes", "frames", "fps", "pps", "cps", "percent", "ms", "us", "ns", "s"];

/** `rtt_p99_ms` is `RTT p99`. */
export function fieldName(field: string): string {
  const parts = field.split("_");
  const last = parts.at(-1) ?? "";
  if (parts.length > 1 && UNITS.includes(last) && last !== "frames") {
    parts.pop();
  }
  return parts.map((part) => WORDS[part] ?? part).join(" ");
}

/** A simple value as text; lists and groups are not simple. */
export function fieldValue(field: string, value: unknown): string {
  if (value === null || value === undefined) {
    return UNKNOWN;
  }
  if (typeof value === "boolean") {
    return field === "pass" ? (value ? "pass" : "FAIL") : value ? "yes" : "no";
  }
  if (typeof value === "number") {
    return numberShown(field, value);
  }
  if (Array.isArray(value)) {
    return value.length === 0 ? "none" : value.map((one) => fieldValue(field, one)).join(", ");
  }
  if (typeof value === "object") {
    return Object.entries(value)
      .filter(([, inner]) => inner !== null)
      .map(([name, inner]) => `${fieldName(name)} ${fieldValue(name, inner)}`)
      .join(", ");
  }
  return String(value);
}

function numberShown(field: string, value: number): string {
  const unit = field
    .replace(/_(mean|at_least|at_most)$/, "")
    .split("_")
    .at(-1);
  switch (unit) {
    case "bps":
      return rate(value);
    case "bytes":
      return `${grouped(value)} B`;
    case "percent":
      return percentShown(field, value);
    case "s":
      return duration(value);
    case "ms":
      return duration(value / 1e3);
    case "us":
      return duration(value / 1e6);
    case "ns":
      return duration(value / 1e9);
    case "fps":
    case "pps":
    case "cps":
      return grouped(Math.floor(value));
    case "flr":
      return percent(100 * value, 4);
    case "ratio":
      return fixed(value, 3);
    default:
      return Number.isInteger(value) && value >= 0 ? grouped(value) : short(value);
  }
}

function percentShown(field: string, value: number): string {
  const text = percent(value, percentPlaces(field));
  return isSigned(field) && !text.startsWith("-") ? `+${text}` : text;
}

/** What is above and what is below is told apart. */
function isSigned(field: string): boolean {
  return field === "deviation_percent";
}

function percentPlaces(field: string): number {
  if (field === "buffer_delay_percent") {
    return 1;
  }
  return field === "loss_percent" || field === "availability_percent" ? 3 : 2;
}

/** Groups within groups as one list: `windows, connections` beside its value. */
export function flattened(fields: Fields, before = ""): [name: string, value: string][] {
  return Object.entries(fields).flatMap(([field, value]): [string, string][] => {
    const name = before === "" ? fieldName(field) : `${before}, ${fieldName(field)}`;
    if (value !== null && typeof value === "object" && !Array.isArray(value)) {
      return flattened(value as Fields, name);
    }
    return [[name, fieldValue(field, value)]];
  });
}

export function numberOf(fields: Fields, field: string): number | null {
  const value = fields[field];
  return typeof value === "number" ? value : null;
}

export function wordOf(fields: Fields, field: string): string {
  const value = fields[field];
  return typeof value === "string" ? value : "";
}
