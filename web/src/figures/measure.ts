// What the values of a panel are shown in: one unit for the axis, each value in the one that suits.

import { UNKNOWN, grouped, inUnit, rateUnit, short } from "../quantity.ts";
import type { Values } from "../series.ts";

export interface Measure {
  /** Of the numbers along the axis. */
  unit: string;
  tick: (value: number) => string;
  shown: (value: number | null) => string;
}

export function measureOf(unit: string, curves: readonly { values: Values }[]): Measure {
  const [factor, name] = scaled(unit, greatest(curves));
  return {
    unit: name,
    tick: (value) => {
      const part = value / factor;
      return Math.abs(part) >= 1e4 ? grouped(part) : short(part);
    },
    shown: (value) => (value === null ? UNKNOWN : inUnit(value, unit)),
  };
}

function greatest(curves: readonly { values: Values }[]): number {
  let most = 0;
  for (const { values } of curves) {
    for (const value of values) {
      if (typeof value === "number" && value > most) {
        most = value;
      }
    }
  }
  return most;
}

function scaled(unit: string, most: number): [factor: number, name: string] {
  switch (unit) {
    case "bit/s":
      return rateUnit(most);
    case "bytes":
      return most < 1e4 ? [1, "B"] : most < 1e6 ? [1e3, "kB"] : [1e6, "MB"];
    case "us":
      return most < 1e3 ? [1, "µs"] : [1e3, "ms"];
    case "percent":
      return [1, "%"];
    default:
      return [1, unit];
  }
}
