// Quantities as people write them in files, `40M@l2`, `64Ki`, `27ms`, said in full.

import { fieldValue } from "../fields.ts";
import { roundAmount, roundDuration, roundRate } from "../quantity.ts";

const RATES: Readonly<Record<string, number>> = { "": 1, k: 1e3, m: 1e6, g: 1e9, t: 1e12 };
const SIZES: Readonly<Record<string, number>> = {
  "": 1,
  k: 1e3,
  K: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 1024,
  Mi: 1024 ** 2,
  Gi: 1024 ** 3,
};
const TIMES: Readonly<Record<string, number>> = {
  ns: 1e-9,
  us: 1e-6,
  µs: 1e-6,
  ms: 1e-3,
  "": 1,
  s: 1,
  m: 60,
  min: 60,
  h: 3600,
};

/** What is not understood is shown as it is written. */
export function writtenRate(value: unknown): string {
  const found = /^([\d.]+) ?([kKMmGgTt]?)(?:bit|b)?(?:\/s|ps)?(?:@(l\d))?$/.exec(String(value));
  const factor = RATES[found?.[2]?.toLowerCase() ?? "?"];
  if (!found || factor === undefined) {
    return fieldValue(value);
  }
  const layer = found[3] ? ` (${found[3]})` : "";
  return `${roundRate(Number(found[1]) * factor)}${layer}`;
}

export function writtenSize(value: unknown): string {
  return written(value, /^([\d.]+) ?([kKMG]i?|)B?$/, SIZES, roundAmount);
}

export function writtenTime(value: unknown): string {
  return written(value, /^([\d.]+) ?(ns|us|µs|ms|min|s|m|h|)$/, TIMES, roundDuration);
}

function written(
  value: unknown,
  form: RegExp,
  units: Readonly<Record<string, number>>,
  shown: (value: number) => string,
): string {
  const found = form.exec(String(value));
  const factor = units[found?.[2] ?? "?"];
  return found && factor !== undefined ? shown(Number(found[1]) * factor) : fieldValue(value);
}
