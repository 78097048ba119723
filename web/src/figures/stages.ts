// What a link does to a frame, in the order in which it does it, each with its captions.

import { fieldName, fieldValue } from "../fields.ts";
import { grouped } from "../quantity.ts";
import { writtenRate, writtenSize, writtenTime } from "./written.ts";
import type { Link } from "../api/types.ts";

export type Symbol =
  "line" | "policer" | "shaper" | "queue" | "delay" | "loss" | "mtu" | "classes" | "other";

export interface Stage {
  symbol: Symbol;
  name: string;
  captions: string[];
}

type Group = Readonly<Record<string, unknown>>;
type Read = (value: unknown) => Stage[];

/** The fields of a link in a lab file, in the order in which a frame meets what they say. */
const READ: Readonly<Record<string, Read>> = {
  vlan_tags: (value) => [other("VLAN tags", value)],
  remark: (value) => each(value).map((group) => other("remark", group)),
  outage: (value) => [other("outage", value)],
  mtu: (value) => [mtu(isGroup(value) ? value : { bytes: value })],
  priority: (value) => [{ symbol: "classes", name: "priority", captions: classes(value) }],
  queue: (value) => each(value).map(queue),
  line_rate: (value) => [
    { symbol: "line", name: "line rate", captions: [writtenRate(value), "layer 1"] },
  ],
  police: (value) => each(value).map(policer),
  loss: (value) => [{ symbol: "loss", name: "loss", captions: said(value) }],
  corrupt: (value) => [other("corruption", value)],
  duplicate: (value) => [other("duplication", value)],
  shape: (value) => each(value).map(shaper),
  delay: (value) => [{ symbol: "delay", name: "delay", captions: [writtenTime(value)] }],
  jitter: (value) => [{ symbol: "delay", name: "jitter", captions: said(value) }],
  reorder: (value) => [other("reordering", value)],
};

export function stagesOf(link: Link): Stage[] {
  const known = order(link).flatMap((field) => {
    const value = link[field];
    return isSet(value) ? (READ[field]?.(value) ?? []) : [];
  });
  const rest = Object.entries(link).filter(([field, value]) => !(field in READ) && isSet(value));
  return [...known, ...rest.map(([field, value]) => other(field, value))];
}

/** Where there is a shaper, the classes wait in its queue and not in that of the line. */
function order(link: Link): string[] {
  const fields = Object.keys(READ);
  if (!isSet(link["shape"])) {
    return fields;
  }
  const others = fields.filter((field) => field !== "priority");
  return others.flatMap((field) => (field === "shape" ? ["priority", field] : [field]));
}

function isSet(value: unknown): boolean {
  const isEmpty = Array.isArray(value) && value.length === 0;
  return value !== null && value !== undefined && value !== 0 && value !== "0" && !isEmpty;
}

function policer(police: Group): Stage {
  const captions = [`CIR ${writtenRate(police["cir"])}`, `CBS ${writtenSize(police["cbs"])}`];
  if (isSet(police["eir"])) {
    captions.push(`EIR ${writtenRate(police["eir"])}`, `EBS ${writtenSize(police["ebs"])}`);
  }
  if (isSet(police["exceed"]) && police["exceed"] !== "drop") {
    captions.push(`exceeding: ${fieldValue(police["exceed"])}`);
  }
  const told = ["cir", "cbs", "eir", "ebs", "exceed"];
  return { symbol: "policer", name: "policer", captions: [...captions, ...more(police, told)] };
}

function shaper(shape: Group): Stage {
  const captions = [writtenRate(shape["rate"])];
  if (isSet(shape["burst"])) {
    captions.push(`burst ${writtenSize(shape["burst"])}`);
  }
  if (isGroup(shape["queue"])) {
    captions.push(`queue ${queue(shape["queue"]).captions.join(", ")}`);
  }
  const told = ["rate", "burst", "queue"];
  return { symbol: "shaper", name: "shaper", captions: [...captions, ...more(shape, told)] };
}

function queue(limit: Group): Stage {
  const captions: string[] = [];
  if (isSet(limit["packets"])) {
    captions.push(`${counted(limit["packets"])} packets`);
  }
  if (isSet(limit["bytes"])) {
    captions.push(writtenSize(limit["bytes"]));
  }
  const rest = more(limit, ["packets", "bytes"]);
  return { symbol: "queue", name: "queue", captions: [...captions, ...rest] };
}

function mtu(limit: Group): Stage {
  const captions = [`${counted(limit["bytes"])} B`];
  if (limit["icmp"] === false) {
    captions.push("silent: no ICMP");
  }
  return { symbol: "mtu", name: "MTU", captions };
}

/** The classes of a scheduler, the highest first: `EF`, then `AF41 AF11`. */
function classes(value: unknown): string[] {
  if (!isGroup(value)) {
    return said(value);
  }
  return Object.entries(value).flatMap(([kind, list]) => {
    const rows = Array.isArray(list) ? list.map(classOf) : [fieldValue(list)];
    return [kind === "drr" ? "DRR" : kind, ...rows];
  });
}

function classOf(row: unknown): string {
  if (isGroup(row)) {
    return [classOf(row["dscp"]), ...more(row, ["dscp"])].join(" ");
  }
  return (Array.isArray(row) ? row : [row]).map((name) => String(name).toUpperCase()).join(" ");
}

function other(field: string, value: unknown): Stage {
  return { symbol: "other", name: fieldName(field), captions: said(value) };
}

function said(value: unknown): string[] {
  return isGroup(value) ? more(value, []) : [fieldValue(value)];
}

function more(group: Group, told: readonly string[]): string[] {
  return Object.entries(group)
    .filter(([field, value]) => !told.includes(field) && isSet(value) && value !== false)
    .map(([field, value]) =>
      value === true ? fieldName(field) : `${fieldName(field)} ${fieldValue(value)}`,
    );
}

function counted(value: unknown): string {
  const count = Number(value);
  return Number.isFinite(count) ? grouped(count) : fieldValue(value);
}

function isGroup(value: unknown): value is Group {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function each(value: unknown): Group[] {
  return (Array.isArray(value) ? value : [value]).filter(isGroup);
}
