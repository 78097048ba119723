// Courses over time: added up, joined to fewer slots, laid one behind another on one time axis.

import type { Sample, Series, Trial } from "./api/types.ts";

export type Values = (number | null)[];

/** Slots of one direction on the run's clock, `null` where nothing was known. */
export interface Lane {
  t_s: number[];
  sent_bps: Values;
  received_bps: Values;
  retransmitted_bps: Values;
  rtt_ms: Values;
  active_connections: Values;
}

/** Curves over one common list of times. */
export interface Sheet {
  t_s: number[];
  curves: Values[];
}

/** More slots than this of a flow are joined two and two. */
export const MOST_SLOTS = 4000;

const SUMS = ["sent_bps", "received_bps", "retransmitted_bps", "active_connections"] as const;

export function emptySeries(): Series {
  return {
    t_s: [],
    dt_s: [],
    sent_bps: [],
    received_bps: [],
    retransmitted_bps: [],
    rtt_ms: [],
    cwnd_bytes: [],
    active_connections: [],
  };
}

/** Adds slots at the end of a series that nobody else holds. */
export function append(series: Series, sample: Sample): void {
  series.t_s.push(sample.t_s);
  series.dt_s.push(sample.dt_s);
  series.sent_bps.push(sample.sent_bps);
  series.received_bps.push(sample.received_bps);
  series.retransmitted_bps.push(sample.retransmitted_bps);
  series.rtt_ms.push(sample.rtt_ms);
  series.cwnd_bytes.push(sample.cwnd_bytes);
  series.active_connections.push(sample.active_connections);
}

export function copied(series: Series): Series {
  return {
    t_s: [...series.t_s],
    dt_s: [...series.dt_s],
    sent_bps: [...series.sent_bps],
    received_bps: [...series.received_bps],
    retransmitted_bps: [...series.retransmitted_bps],
    rtt_ms: [...series.rtt_ms],
    cwnd_bytes: [...series.cwnd_bytes],
    active_connections: [...series.active_connections],
  };
}

/** Two neighbouring slots as one: amounts stay what they were, of states the mean is kept, of counts
 * the most. */
export function halved(series: Series): Series {
  const joined = emptySeries();
  for (let at = 0; at < series.t_s.length; at += 2) {
    append(joined, pair(series, at));
  }
  return joined;
}

function pair(series: Series, at: number): Sample {
  const [first, second] = [series.dt_s[at] ?? 0, series.dt_s[at + 1] ?? 0];
  const share = first + second > 0 ? first / (first + second) : 1;
  const mean = (values: Values): number | null => {
    const [one, other] = [values[at] ?? null, values[at + 1] ?? null];
    return one === null || other === null ? (one ?? other) : one * share + other * (1 - share);
  };
  return {
    index: 0,
    flow: 0,
    t_s: series.t_s[at] ?? 0,
    dt_s: first + second,
    sent_bps: mean(series.sent_bps),
    received_bps: mean(series.received_bps),
    retransmitted_bps: mean(series.retransmitted_bps),
    rtt_ms: mean(series.rtt_ms),
    cwnd_bytes: mean(series.cwnd_bytes),
    active_connections: most(series.active_connections, at),
  };
}

function most(values: Values, at: number): number | null {
  const known = values.slice(at, at + 2).filter((value) => value !== null);
  return known.length > 0 ? Math.max(...known) : null;
}

/** What the flows of one direction did together; of round trips the mean. */
export function together(flows: readonly Series[]): Lane {
  const t_s = edges(flows);
  const sums = SUMS.map((name) => sum(flows, name, t_s));
  return {
    t_s,
    sent_bps: sums[0] ?? [],
    received_bps: sums[1] ?? [],
    retransmitted_bps: sums[2] ?? [],
    active_connections: sums[3] ?? [],
    rtt_ms: meanOf(flows, t_s),
  };
}

/** Every moment at which a slot begins; moments within a microsecond are one. */
function edges(flows: readonly Series[]): number[] {
  const all = flows.flatMap((flow) => flow.t_s).sort((a, b) => a - b);
  return all.filter((t, place) => place === 0 || t - (all[place - 1] ?? 0) > 1e-6);
}

function sum(flows: readonly Series[], name: (typeof SUMS)[number], t_s: number[]): Values {
  const total: Values = t_s.map(() => null);
  for (const flow of flows) {
    each(flow, t_s, (place, slot) => {
      const value = flow[name][slot] ?? null;
      total[place] = value === null ? (total[place] ?? null) : (total[place] ?? 0) + value;
    });
  }
  return total;
}

function meanOf(flows: readonly Series[], t_s: number[]): Values {
  const total = t_s.map(() => 0);
  const count = t_s.map(() => 0);
  for (const flow of flows) {
    each(flow, t_s, (place, slot) => {
      const value = flow.rtt_ms[slot] ?? null;
      if (value !== null) {
        total[place] = (total[place] ?? 0) + value;
        count[place] = (count[place] ?? 0) + 1;
      }
    });
  }
  return total.map((value, place) =>
    (count[place] ?? 0) > 0 ? value / (count[place] ?? 1) : null,
  );
}

/** Calls with each place of `t_s` that lies in a slot of the flow. */
function each(flow: Series, t_s: number[], found: (place: number, slot: number) => void): void {
  let slot = 0;
  for (const [place, t] of t_s.entries()) {
    while (slot + 1 < flow.t_s.length && (flow.t_s[slot + 1] ?? 0) <= t + 1e-6) {
      slot += 1;
    }
    const [from, lasts] = [flow.t_s[slot], flow.dt_s[slot] ?? 0];
    if (from !== undefined && t >= from - 1e-6 && t < from + lasts - 1e-9) {
      found(place, slot);
    }
  }
}

/** When each trial began on an axis on which none overlaps another, as simulated ones would. */
export function starts(trials: readonly Trial[]): number[] {
  let free = 0;
  return trials.map((trial) => {
    const start = Math.max(trial.started_s, free);
    free = start + reached(trial);
    return start;
  });
}

/** How far into a trial its slots go. */
export function reached(trial: Trial): number {
  const ends = trial.series.map((series) => (series.t_s.at(-1) ?? 0) + (series.dt_s.at(-1) ?? 0));
  return Math.max(0, ...ends);
}

/**
 * Several courses over the times of all of them. Where a course says nothing of a time it has
 * `undefined`, which a chart draws across; `null` is a gap.
 */
export function merged(courses: readonly { t_s: number[]; values: Values }[]): Sheet {
  const t_s = [...new Set(courses.flatMap((course) => course.t_s))].sort((a, b) => a - b);
  const place = new Map(t_s.map((t, at) => [t, at]));
  const curves = courses.map((course) => {
    const values: (number | null | undefined)[] = t_s.map(() => undefined);
    for (const [at, t] of course.t_s.entries()) {
      values[place.get(t) ?? 0] = course.values[at] ?? null;
    }
    widen(values);
    return values as Values;
  });
  return { t_s, curves };
}

/** What is unknown stays so up to the next known value on either side: no line crosses it. */
function widen(values: (number | null | undefined)[]): void {
  const spread = (at: number, beside: number): void => {
    if (values[at] === undefined && values[beside] === null) {
      values[at] = null;
    }
  };
  for (let at = 1; at < values.length; at += 1) {
    spread(at, at - 1);
  }
  for (let at = values.length - 2; at >= 0; at -= 1) {
    spread(at, at + 1);
  }
}

/** Rows for a spreadsheet: the time, then a column for each curve. */
export function asCsv(names: readonly string[], sheet: Sheet): string {
  const head = ["t_s", ...names].map(cell).join(",");
  const rows = sheet.t_s.map((t, at) =>
    [t, ...sheet.curves.map((curve) => curve[at] ?? "")].join(","),
  );
  return `${[head, ...rows].join("\r\n")}\r\n`;
}

/** Text that a spreadsheet would compute is disarmed. */
function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
