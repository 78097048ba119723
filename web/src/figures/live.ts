// What a run's live panels show: its trials behind one another, a curve for each direction.

import type { Direction, Flow, RunView, Trial } from "../api/types.ts";
import { type Lane, type Values, merged, reached, starts, together } from "../series.ts";

export interface LiveCurve {
  name: string;
  ink: Direction;
  dash: readonly number[];
  values: Values;
}

export interface LivePanel {
  title: string;
  unit: string;
  t_s: number[];
  curves: LiveCurve[];
}

/** Sent is broken, received is whole: the difference is seen without colour. */
export const SENT_DASH: readonly number[] = [5, 4];
export const DIRECTIONS: readonly Direction[] = ["download", "upload"];

type Quantity = Exclude<keyof Lane, "t_s">;

/** A panel of which nothing is known is left out. */
export function livePanels(view: RunView): LivePanel[] {
  const lanes = DIRECTIONS.flatMap((direction) => {
    const lane = laneOf(view.trials, direction);
    return lane.t_s.length > 0 ? [{ direction, lane }] : [];
  });
  const panel = (
    title: string,
    unit: string,
    quantities: readonly (readonly [Quantity, string, readonly number[]])[],
  ): LivePanel => {
    const drawn = lanes.flatMap(({ direction, lane }) =>
      quantities.map(([quantity, word, dash]) => ({
        name: word === "" ? direction : `${direction} ${word}`,
        ink: direction,
        dash,
        t_s: lane.t_s,
        values: lane[quantity],
      })),
    );
    const known = drawn.filter((curve) => curve.values.some((value) => value !== null));
    const sheet = merged(known);
    const curves = known.map(({ name, ink, dash }, place) => ({
      name,
      ink,
      dash,
      values: sheet.curves[place] ?? [],
    }));
    return { title, unit, t_s: sheet.t_s, curves };
  };
  const hasTcp = view.trials.some((trial) => trial.flows.some((flow) => flow.kind === "tcp"));
  const panels = [
    panel(`Throughput${layersOf(view)}`, "bit/s", [
      ["received_bps", "received", []],
      ["sent_bps", "sent", SENT_DASH],
    ]),
    ...(hasTcp ? [panel("Retransmissions", "bit/s", [["retransmitted_bps", "", []]])] : []),
    panel("RTT", "ms", [["rtt_ms", "", []]]),
    panel("Active connections", "connections", [["active_connections", "", []]]),
  ];
  return panels.filter((one) => one.curves.length > 0);
}

/** What the rates count, as far as any are. */
function layersOf(view: RunView): string {
  const flows = view.trials.flatMap((trial) => trial.flows);
  const names = layers(flows).map((layer) => LAYERS[layer] ?? `layer ${layer}`);
  return names.length === 0 ? "" : `, ${names.join(" and ")}`;
}

const LAYERS: Readonly<Record<number, string>> = { 2: "frames (l2)", 4: "payload (l4)" };

/** Of the rates of these flows; probes have none. */
function layers(flows: readonly Flow[]): number[] {
  const counted = flows.filter((flow) => flow.kind !== "probes");
  return [...new Set(counted.map((flow) => flow.layer))].sort();
}

/** One direction of all trials on the run's time axis, with a gap behind each trial. */
function laneOf(trials: readonly Trial[], direction: Direction): Lane {
  const whole: Lane = {
    t_s: [],
    sent_bps: [],
    received_bps: [],
    retransmitted_bps: [],
    rtt_ms: [],
    active_connections: [],
  };
  for (const [place, start] of starts(trials).entries()) {
    const trial = trials[place];
    const lane = trial && laneOfTrial(trial, direction);
    if (!trial || !lane || lane.t_s.length === 0) {
      continue;
    }
    whole.t_s.push(...lane.t_s.map((t) => start + t), start + reached(trial));
    whole.sent_bps.push(...lane.sent_bps, null);
    whole.received_bps.push(...lane.received_bps, null);
    whole.retransmitted_bps.push(...lane.retransmitted_bps, null);
    whole.rtt_ms.push(...lane.rtt_ms, null);
    whole.active_connections.push(...lane.active_connections, null);
  }
  return whole;
}

const lanes = new WeakMap<Trial, Map<Direction, Lane>>();

/** Trials that did not change since are not added up again. */
function laneOfTrial(trial: Trial, direction: Direction): Lane {
  const known = lanes.get(trial) ?? new Map<Direction, Lane>();
  lanes.set(trial, known);
  const before = known.get(direction);
  if (before) {
    return before;
  }
  const flows = trial.flows.flatMap((flow, place) => {
    const series = trial.series[place];
    return flow.direction === direction && series ? [series] : [];
  });
  const lane = together(flows);
  known.set(direction, lane);
  return lane;
}

export interface Now {
  direction: Direction;
  sent_bps: number | null;
  received_bps: number | null;
  retransmitted_bps: number | null;
  rtt_ms: number | null;
  active_connections: number | null;
  /** Of its rates; more than one where frames and TCP are sent at once. */
  layers: number[];
}

/** The latest of each direction that a trial has. */
export function latest(trial: Trial): Now[] {
  return DIRECTIONS.filter((direction) =>
    trial.flows.some((flow) => flow.direction === direction),
  ).map((direction) => {
    const lane = laneOfTrial(trial, direction);
    const last = (values: Values): number | null =>
      values.findLast((value) => value !== null) ?? null;
    return {
      direction,
      sent_bps: last(lane.sent_bps),
      received_bps: last(lane.received_bps),
      retransmitted_bps: last(lane.retransmitted_bps),
      rtt_ms: last(lane.rtt_ms),
      active_connections: last(lane.active_connections),
      layers: layers(trial.flows.filter((flow) => flow.direction === direction)),
    };
  });
}
