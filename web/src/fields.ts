// Fields of a network file: what they are called and how their values are shown.

import { UNKNOWN, grouped, short } from "./quantity.ts";
import type { Fields } from "./api/types.ts";

/** Names that say less than people do. */
const WORDS: Readonly<Record<string, string>> = {
  cbs: "CBS",
  cir: "CIR",
  dscp: "DSCP",
  ebs: "EBS",
  ecn: "ECN",
  eir: "EIR",
  icmp: "ICMP",
  ip: "IP",
  mtu: "MTU",
  vlan: "VLAN",
};

/** `vlan_tags` is `VLAN tags`. */
export function fieldName(field: string): string {
  const parts = field.split("_");
  return parts.map((part) => WORDS[part] ?? part).join(" ");
}

export function fieldValue(value: unknown): string {
  if (value === null || value === undefined) {
    return UNKNOWN;
  }
  if (typeof value === "boolean") {
    return value ? "yes" : "no";
  }
  if (typeof value === "number") {
    return Number.isInteger(value) && value >= 0 ? grouped(value) : short(value);
  }
  if (Array.isArray(value)) {
    return value.length === 0 ? "none" : value.map(fieldValue).join(", ");
  }
  if (typeof value === "object") {
    return Object.entries(value)
      .filter(([, inner]) => inner !== null)
      .map(([name, inner]) => `${fieldName(name)} ${fieldValue(inner)}`)
      .join(", ");
  }
  return String(value);
}

export function wordOf(fields: Fields, field: string): string {
  const value = fields[field];
  return typeof value === "string" ? value : "";
}
