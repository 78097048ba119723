// What the server says and is told, as its interface names it; units stand in the names.

export interface About {
  version: string;
  host: string;
  keeps_history: boolean;
  methods: { name: string; title: string }[];
  verdicts: VerdictWords[];
}

export type Tone = "good" | "bad" | "doubtful" | "neutral";

export interface VerdictWords {
  name: string;
  tone: Tone;
  word: string;
  /** What it says of the path. */
  sentence: string;
}

export interface Form {
  name: string;
  title: string;
  about: string;
  can_simulate: boolean;
  groups: OptionGroup[];
}

export interface OptionGroup {
  heading: string | null;
  options: MethodOption[];
}

export interface MethodOption {
  name: string;
  flag: string;
  /** A switch has none. */
  value_name: string | null;
  help: string;
  default: string | null;
  choices: string[];
  many: boolean;
  positional: boolean;
  required: boolean;
}

export interface Network {
  name: string;
  description: string;
  yaml: string;
  path: Path;
}

export interface Path {
  name: string;
  description: string;
  near_to_far: Link[];
  far_to_near: Link[];
}

/** The fields that are set, named and written as in a lab file; which there are grows with it. */
export type Link = Readonly<Record<string, unknown>>;

export type Target =
  | { kind: "far"; address: string; key: string }
  | { kind: "lab" | "sim"; network: string }
  | { kind: "lab" | "sim"; yaml: string };

export interface Given {
  name: string;
  value: string;
}

export const LABELS = ["site", "circuit", "technician", "order", "label"] as const;
export type Label = (typeof LABELS)[number];
export type Labels = Partial<Record<Label, string | null>>;

export interface Order {
  method: string;
  target: Target;
  options: Given[];
  labels: Labels;
}

export interface Checked {
  command: string;
  at_least_s: number | null;
  at_most_bytes: number | null;
  load: LoadCurve[] | null;
}

export interface LoadCurve {
  flow: string;
  points: [t_s: number, bps: number][];
}

export interface RunHead {
  id: string;
  command: string;
  method: string;
  across: string;
  started: string;
  state: "running" | "stopping" | "ended";
  exit_code: number | null;
  verdict: string | null;
  result_id: string | null;
  error: string | null;
}

export interface RunView {
  head: RunHead;
  elapsed_s: number;
  trials: Trial[];
  lines: string[];
}

export interface Trial {
  name: string;
  started_s: number;
  /** As planned. */
  lasts_s: number;
  /** Between these what is measured counts; since the start of the trial. */
  steady_s: [number, number];
  finished: boolean;
  flows: Flow[];
  summary: string | null;
  /** In the steady time, once the trial has ended. */
  received_bps: Readonly<Record<Direction, number | null>>;
  /** One for each flow. */
  series: Series[];
}

/** What both ends have settled on. */
export interface TrialEnd {
  index: number;
  summary: string | null;
  received_bps: Readonly<Record<Direction, number | null>>;
  series: Series[];
}

export type Direction = "upload" | "download";

export interface Flow {
  direction: Direction;
  kind: "tcp" | "frames" | "bursts" | "probes";
  connections: number | null;
  dscp: number | null;
  /** Whose bytes its rates count: 2 frames, 4 payload. */
  layer: number;
  label: string;
}

export interface Series {
  t_s: number[];
  dt_s: number[];
  sent_bps: (number | null)[];
  received_bps: (number | null)[];
  retransmitted_bps: (number | null)[];
  rtt_ms: (number | null)[];
  cwnd_bytes: (number | null)[];
  active_connections: (number | null)[];
}

export interface Sample {
  /** Of the trial in its run. */
  index: number;
  /** Of the flow in its trial. */
  flow: number;
  t_s: number;
  dt_s: number;
  sent_bps: number | null;
  received_bps: number | null;
  retransmitted_bps: number | null;
  rtt_ms: number | null;
  cwnd_bytes: number | null;
  active_connections: number | null;
}

export type RunEvent =
  | { kind: "view"; view: RunView }
  | { kind: "trial_started"; index: number; trial: Trial }
  | { kind: "sample"; sample: Sample }
  | ({ kind: "trial_finished" } & TrialEnd)
  | { kind: "line"; text: string }
  | { kind: "ended"; head: RunHead };

export interface ResultPage {
  count: number;
  results: ResultHead[];
}

export interface ResultHead {
  id: string;
  started: string;
  method: string;
  across: string;
  verdict: string;
  duration_s: number | null;
  figure: HeadFigure | null;
  course: number[];
  labels: Labels;
}

export interface HeadFigure {
  name: string;
  value: number;
  unit: string;
  shown: string;
}

/** Their names depend on what is described. */
export type Fields = Readonly<Record<string, unknown>>;

export interface ResultDocument {
  id: string;
  method: string;
  started: string;
  across: string;
  far: Fields | null;
  verdict: { status: string };
  validity: { ok: boolean };
  /** The parts of the certificate, with final texts. */
  sentence: string;
  reasons: string[];
  facts: Fact[];
  asked: Fact[];
  blocks: Block[];
  how: Block[];
  judged_again?: Fields;
}

export interface Fact {
  name: string;
  text: string;
}

export type Block =
  | { heading: string }
  | { verdict: { tone: Tone; word: string; sentence: string } }
  | { list: string[] }
  | { facts: Fact[] }
  | { table: BlockTable }
  | { figures: BlockFigure[] }
  | { text: string };

export interface BlockTable {
  caption: string;
  columns: { head: string; side: "left" | "right" }[];
  rows: BlockCell[][];
  note: string | null;
}

export interface BlockCell {
  text: string;
  tone: Tone;
}

export interface BlockFigure {
  caption: string;
  /** What can be read from it, in words. */
  alternative: string;
  /** The text of an SVG file. */
  svg: string;
  is_wide: boolean;
}

export interface Counter {
  /** `trial/flow/counter`. */
  id: string;
  trial: string;
  flow: string;
  end: "near" | "far" | "both";
  counter: string;
  unit: string;
  from_s: number;
  until_s: number;
  min: number | null;
  max: number | null;
  last: number | null;
}

export interface CounterCourse {
  t_s: number[];
  mean: (number | null)[];
  min: (number | null)[];
  max: (number | null)[];
  unit: string;
  /** In the range, before they were joined. */
  slots: number;
}

/** What changed between two results, with final texts. */
export interface Comparison {
  method: string;
  blocks: Block[];
}
