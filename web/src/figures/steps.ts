// The steps of a result as tables: the columns of those that are known, all figures of the others.

import { fieldName, fieldValue, flattened, numberOf, wordOf } from "../fields.ts";
import { UNKNOWN, grouped, percent } from "../quantity.ts";
import type { Fields } from "../api/types.ts";

export interface StepColumn {
  head: string;
  figure: boolean;
  cell: (step: Fields) => string;
}

export interface StepTable {
  caption: string;
  columns: StepColumn[];
  rows: Fields[];
  note?: string;
}

interface Known {
  caption: string;
  columns: StepColumn[];
  /** Steps that differ in these words stand in tables of their own. */
  apart?: readonly string[];
  note?: string;
}

const word = (field: string, head = fieldName(field)): StepColumn => ({
  head,
  figure: false,
  cell: (step) => wordOf(step, field).replaceAll("_", " ") || UNKNOWN,
});
const figure = (field: string, head = fieldName(field)): StepColumn => ({
  head,
  figure: true,
  cell: (step) => fieldValue(field, step[field]),
});
/** A rate with the layer that the step names beside it. */
const layered = (field: string, layer: string, head: string): StepColumn => ({
  head,
  figure: true,
  cell: (step) => {
    const shown = fieldValue(field, step[field]);
    return shown === UNKNOWN ? shown : `${shown} ${wordOf(step, layer)}`.trim();
  },
});
const share = (part: string, whole: string, head: string): StepColumn => ({
  head,
  figure: true,
  cell: (step) => {
    const [one, all] = [numberOf(step, part), numberOf(step, whole)];
    return one === null || all === null || all <= 0 ? UNKNOWN : percent((100 * one) / all, 1);
  },
});
const outcome: StepColumn = {
  head: "outcome",
  figure: false,
  cell: (step) => fieldValue("pass", step["pass"]),
};
const direction: StepColumn = {
  head: "direction",
  figure: false,
  cell: (step) => {
    const [asked, own] = [wordOf(step, "direction"), wordOf(step, "flow_direction")];
    return own !== "" && own !== asked ? `${asked}: ${own}` : asked || UNKNOWN;
  },
};
const windows: StepColumn = {
  head: "connections × window",
  figure: true,
  cell: (step) => {
    const window = fieldValue("window_bytes", step["window_bytes"]);
    return `${fieldValue("connections", step["connections"])} × ${window}`;
  },
};
const list = (field: string, head = fieldName(field)): StepColumn => ({
  head,
  figure: false,
  cell: (step) => fieldValue(field, step[field]),
});

const TCP_WALK: Known = {
  caption: "Window walk",
  columns: [
    direction,
    {
      head: "of the path's window",
      figure: true,
      cell: (step) => {
        const fraction = numberOf(step, "window_fraction");
        return shareOf(fraction && 100 * fraction, 0);
      },
    },
    windows,
    figure("throughput_bps", "throughput (l4)"),
    figure("ideal_bps", "ideal (l4)"),
    share("throughput_bps", "ideal_bps", "share"),
    figure("rtt_mean_ms", "RTT"),
  ],
  note: "Less than the ideal at a small window points at loss or delay.",
};

const TCP_THROUGHPUT: Known = {
  caption: "TCP throughput",
  columns: [
    direction,
    word("sender"),
    word("congestion_control", "control"),
    windows,
    figure("throughput_bps", "throughput (l4)"),
    figure("ideal_bps", "ideal (l4)"),
    share("throughput_bps", "ideal_bps", "share"),
    figure("transfer_time_ratio", "TTR"),
    figure("efficiency_percent", "efficiency"),
    figure("buffer_delay_percent", "buffer delay"),
    figure("rtt_mean_ms", "RTT"),
  ],
};

const BURSTS = [
  outcome,
  direction,
  figure("frame_bytes", "frame"),
  layered("cir_bps", "cir_layer", "CIR"),
  figure("configured_burst_bytes", "CBS asked"),
  figure("tx_burst_bytes", "burst sent"),
  figure("rx_burst_bytes_mean", "burst received, mean"),
];

/** What a step of a service activation test offers. */
const OFFERED: Readonly<Record<string, string>> = {
  cir: "CIR",
  eir: "CIR and EIR",
  cbs: "CBS bursts",
  ebs: "EBS bursts",
};

const SERVICES = [
  outcome,
  {
    head: "step",
    figure: false,
    cell: (step: Fields) => OFFERED[wordOf(step, "step")] ?? wordOf(step, "step"),
  },
  {
    head: "of the CIR",
    figure: true,
    cell: (step: Fields) => shareOf(numberOf(step, "cir_percent"), 0),
  },
  direction,
  figure("offered_l2_bps", "offered (l2)"),
  figure("ir_bps", "information rate (l2)"),
  {
    head: "FLR",
    figure: true,
    cell: (step: Fields) => {
      const ratio = numberOf(step, "flr");
      return ratio === null ? UNKNOWN : ratio === 0 ? "0 %" : percent(100 * ratio, 3);
    },
  },
  figure("ftd_ms", "FTD"),
  figure("fdv_ms", "FDV"),
  figure("availability_percent", "availability"),
  {
    head: "why",
    figure: false,
    cell: (step: Fields) =>
      inner(step["failures"])
        .map((failure) => wordOf(failure, "text"))
        .join("; ") || UNKNOWN,
  },
];

function shareOf(value: number | null, places: number): string {
  return value === null ? UNKNOWN : percent(value, places);
}

const KNOWN: Readonly<Record<string, Known>> = {
  path_mtu: {
    caption: "Path MTU",
    columns: [
      direction,
      figure("mtu_bytes", "path MTU"),
      list("black_hole", "black hole"),
      figure("probes"),
    ],
  },
  baseline_rtt: {
    caption: "Baseline RTT",
    columns: [
      word("service"),
      figure("rtt_min_ms", "smallest"),
      figure("rtt_mean_ms", "mean"),
      figure("rtt_p99_ms", "99th percentile"),
      figure("rtt_max_ms", "largest"),
      figure("answered"),
      figure("sent"),
    ],
  },
  bottleneck: {
    caption: "Bottleneck bandwidth",
    columns: [
      direction,
      figure("rate_l2_bps", "frames (l2)"),
      figure("rate_l1_bps", "line (l1)"),
      word("kind", "limited by"),
      word("source"),
      figure("trials"),
    ],
  },
  cbs: {
    caption: "CBS test",
    columns: [
      ...BURSTS,
      figure("frames_sent", "frames sent"),
      figure("frames_received", "frames received"),
      figure("frames_lost", "frames lost"),
      figure("bursts"),
    ],
  },
  policing: {
    caption: "Policing test",
    columns: [
      ...BURSTS,
      figure("estimated_cbs_bytes", "estimated CBS"),
      figure("deviation_percent", "deviation"),
      figure("frames_lost", "frames lost"),
      figure("bursts"),
    ],
  },
  rate: {
    caption: "What the policer passes",
    columns: [
      outcome,
      direction,
      figure("frame_bytes", "frame"),
      layered("cir_bps", "cir_layer", "CIR"),
      layered("measured_cir_bps", "cir_layer", "measured"),
      figure("deviation_percent", "deviation"),
    ],
  },
  rfc2544_throughput: {
    caption: "Throughput",
    columns: [
      direction,
      figure("frame_bytes", "frame"),
      figure("rate_fps", "frames/s"),
      figure("theoretical_fps", "theoretical, frames/s"),
      figure("rate_l2_bps", "frames (l2)"),
      figure("rate_l1_bps", "line (l1)"),
      figure("percent_of_line", "of the line, %"),
    ],
  },
  rfc2544_latency: {
    caption: "Latency",
    columns: [
      direction,
      figure("frame_bytes", "frame"),
      figure("rate_fps", "frames/s"),
      figure("latency_min_ms", "smallest"),
      figure("latency_mean_ms", "mean"),
      figure("latency_max_ms", "largest"),
      word("kind", "measured"),
    ],
  },
  rfc2544_frame_loss: {
    caption: "Frame loss rate",
    columns: [
      direction,
      figure("frame_bytes", "frame"),
      figure("highest_fps", "highest, frames/s"),
      {
        head: "lost at each share of the highest rate",
        figure: false,
        cell: (step) =>
          inner(step["trials"])
            .map((trial) => {
              const [of, lost] = [trial["percent_of_highest"], trial["loss_percent"]];
              return `${fieldValue("", of)} %: ${fieldValue("loss_percent", lost)}`;
            })
            .join("  "),
      },
    ],
  },
  rfc2544_back_to_back: {
    caption: "Back-to-back frames",
    columns: [
      direction,
      figure("frame_bytes", "frame"),
      figure("average_frames", "average, frames"),
      figure("min_frames", "smallest, frames"),
      figure("max_frames", "largest, frames"),
      figure("repetitions"),
      word("skipped", "left out because"),
    ],
  },
  rfc2544_recovery: {
    caption: "System recovery",
    columns: [
      direction,
      figure("frame_bytes", "frame"),
      figure("overload_fps", "overload, frames/s"),
      figure("reduced_fps", "then, frames/s"),
      figure("recovery_ms", "recovery"),
    ],
  },
  y1564_configuration: { caption: "Service configuration", columns: SERVICES, apart: ["service"] },
  y1564_performance: {
    caption: "Service performance",
    columns: [outcome, word("service"), ...SERVICES.filter((column) => column.head !== "outcome")],
  },
  flow: {
    caption: "Flows",
    columns: [
      word("flow"),
      direction,
      word("transport"),
      figure("dscp_sent", "DSCP"),
      figure("rate_bps", "rate (l4)"),
      figure("packets"),
      figure("pps", "packets/s"),
      figure("loss_percent", "lost"),
      figure("out_of_order", "out of order"),
      figure("duplicates"),
      figure("jitter_us", "jitter"),
      figure("rtt_mean_ms", "RTT"),
      figure("link_usage_percent", "usage of the line (l2)"),
    ],
  },
};

/** A step with more figures than this stands upright: a row for each. */
const MOST_COLUMNS = 9;

export function tablesOf(steps: readonly Fields[]): StepTable[] {
  const groups = new Map<string, Fields[]>();
  for (const step of steps) {
    const key = [keyOf(step), ...apartOf(step)].join(" · ");
    groups.set(key, [...(groups.get(key) ?? []), step]);
  }
  return [...groups.values()].map(tableOf);
}

function keyOf(step: Fields): string {
  const name = wordOf(step, "name");
  return name === "tcp" ? `tcp ${wordOf(step, "role")}` : name;
}

function apartOf(step: Fields): string[] {
  return (KNOWN[wordOf(step, "name")]?.apart ?? []).map((field) => wordOf(step, field));
}

function tableOf(rows: Fields[]): StepTable {
  const [first = {}] = rows;
  const known = knownOf(first);
  if (!known) {
    return unknownOf(rows);
  }
  const caption = [known.caption, ...apartOf(first)].join(", ");
  const columns = known.columns.filter((column) =>
    rows.some((row) => column.cell(row) !== UNKNOWN),
  );
  return { caption, columns, rows, ...(known.note ? { note: known.note } : {}) };
}

function knownOf(step: Fields): Known | undefined {
  const name = wordOf(step, "name");
  if (name === "tcp") {
    return wordOf(step, "role") === "walk" ? TCP_WALK : TCP_THROUGHPUT;
  }
  return KNOWN[name];
}

/** Steps that this page does not know show what they have, groups within them by their names. */
function unknownOf(steps: readonly Fields[]): StepTable {
  const [first = {}] = steps;
  const name = fieldName(wordOf(first, "name"));
  const caption = name.charAt(0).toUpperCase() + name.slice(1);
  const shown = steps.map((step) => new Map(flattened(simple(step))));
  const names = [...new Set(shown.flatMap((figures) => [...figures.keys()]))].filter((figure) =>
    shown.some((figures) => (figures.get(figure) ?? UNKNOWN) !== UNKNOWN),
  );
  const cell = (place: number, figure: string): string => shown[place]?.get(figure) ?? UNKNOWN;
  if (names.length <= MOST_COLUMNS) {
    const columns = names.map((head) => ({
      head,
      figure: isFigure(cell(0, head)),
      cell: (step: Fields) => cell(steps.indexOf(step), head),
    }));
    return { caption, columns, rows: [...steps] };
  }
  const columns = steps.map((step, place) => ({
    head: wordOf(step, "direction") || `${place + 1}`,
    figure: true,
    cell: (row: Fields) => cell(place, wordOf(row, "figure")),
  }));
  const figures = { head: "figure", figure: false, cell: (row: Fields) => wordOf(row, "figure") };
  const rows = names.filter((name) => name !== "direction").map((figure) => ({ figure }));
  return { caption, columns: [figures, ...columns], rows };
}

function isFigure(shown: string): boolean {
  return /^[-+]?\d/.test(shown);
}

/** Without its name and without lists of groups: courses, trials, flows. */
function simple(step: Fields): Fields {
  const isList = (value: unknown): boolean =>
    Array.isArray(value) && (value.length > 12 || value.some((one) => typeof one === "object"));
  const kept = Object.entries(step).filter(([field, value]) => field !== "name" && !isList(value));
  const inside = kept.map(([field, value]) =>
    value !== null && typeof value === "object" && !Array.isArray(value)
      ? [field, simple(value as Fields)]
      : [field, value],
  );
  return Object.fromEntries(inside) as Fields;
}

function inner(value: unknown): Fields[] {
  return Array.isArray(value) ? (value as Fields[]) : [];
}

export interface WalkBar {
  direction: string;
  windows: string;
  throughput_bps: number;
  ideal_bps: number | null;
}

export function walkOf(steps: readonly Fields[]): WalkBar[] {
  return steps
    .filter((step) => step["name"] === "tcp" && step["role"] === "walk")
    .flatMap((step) => {
      const throughput_bps = numberOf(step, "throughput_bps");
      if (throughput_bps === null) {
        return [];
      }
      const connections = grouped(numberOf(step, "connections") ?? 0);
      const window = grouped(numberOf(step, "window_bytes") ?? 0);
      return [
        {
          direction: wordOf(step, "direction"),
          windows: `${connections} × ${window} B`,
          throughput_bps,
          ideal_bps: numberOf(step, "ideal_bps"),
        },
      ];
    });
}
