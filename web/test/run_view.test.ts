// The view of a run follows the events of its stream.

import assert from "node:assert/strict";
import test from "node:test";
import type { RunEvent, RunHead, RunView, Sample, Trial } from "../src/api/types.ts";
import { advanced } from "../src/run_view.ts";
import { MOST_SLOTS, emptySeries } from "../src/series.ts";

const head: RunHead = {
  id: "r1",
  command: "fullpipe test",
  method: "test",
  across: "lab ideal",
  started: "2026-11-22T11:29:28Z",
  state: "running",
  exit_code: null,
  verdict: null,
  result_id: null,
  error: null,
};

function view(): RunView {
  return { head, elapsed_s: 0, trials: [], lines: [] };
}

function trial(): Trial {
  return {
    name: "window walk",
    started_s: 1,
    lasts_s: 2,
    steady_s: [0, 2],
    finished: false,
    flows: [{ direction: "upload", kind: "tcp", connections: 4, dscp: 0, layer: 4, label: "TCP" }],
    summary: null,
    received_bps: { download: null, upload: null },
    series: [emptySeries()],
  };
}

function sample(t_s: number, flow = 0, index = 0): RunEvent {
  const sample: Sample = {
    index,
    flow,
    t_s,
    dt_s: 0.1,
    sent_bps: 2,
    received_bps: 1,
    retransmitted_bps: 0,
    rtt_ms: null,
    cwnd_bytes: null,
    active_connections: null,
  };
  return { kind: "sample", sample };
}

const begun: RunEvent[] = [
  { kind: "view", view: view() },
  { kind: "trial_started", index: 0, trial: trial() },
];

const settled = {
  summary: "39 Mbit/s",
  received_bps: { download: null, upload: 39e6 },
  series: [{ ...emptySeries(), t_s: [0], dt_s: [2], received_bps: [39e6] }],
};

test("a trial grows by its samples and ends with its summary", () => {
  const grown = advanced(null, [...begun, sample(0), sample(0.1)]);
  assert.deepEqual(grown?.trials[0]?.series[0]?.t_s, [0, 0.1]);
  const end: RunEvent = { kind: "trial_finished", index: 0, ...settled };
  const after = advanced(grown, [end])?.trials[0];
  assert.deepEqual([after?.finished, after?.summary], [true, "39 Mbit/s"]);
  assert.deepEqual(after?.series, settled.series, "what both ends have settled on counts");
});

test("the view before is left as it was", () => {
  const before = advanced(null, [...begun, sample(0)]);
  const after = advanced(before, [sample(0.1)]);
  assert.equal(before?.trials[0]?.series[0]?.t_s.length, 1);
  assert.equal(after?.trials[0]?.series[0]?.t_s.length, 2);
});

test("trials that did not change stay the same object", () => {
  const second: RunEvent = { kind: "trial_started", index: 1, trial: trial() };
  const before = advanced(null, [...begun, sample(0), second]);
  const after = advanced(before, [sample(0, 0, 1)]);
  assert.equal(after?.trials[0], before?.trials[0]);
  assert.notEqual(after?.trials[1], before?.trials[1]);
});

test("a new view after a reconnect takes the place of all before", () => {
  const before = advanced(null, [...begun, sample(0), sample(0.1)]);
  const after = advanced(before, [{ kind: "view", view: { ...view(), elapsed_s: 7 } }]);
  assert.deepEqual([after?.trials.length, after?.elapsed_s], [0, 7]);
});

test("events before the first view and samples of unknown flows change nothing", () => {
  assert.equal(advanced(null, [sample(0), { kind: "line", text: "early" }]), null);
  const after = advanced(null, [...begun, sample(0, 5), sample(0, 0, 9)]);
  assert.equal(after?.trials.length, 1);
  assert.deepEqual(after?.trials[0]?.series[0]?.t_s, []);
});

test("a long trial is joined to fewer slots", () => {
  const many = Array.from({ length: MOST_SLOTS + 1 }, (_, slot) => sample(slot / 10));
  const own = advanced(null, [...begun, ...many])?.trials[0]?.series[0];
  assert.equal(own?.t_s.length, MOST_SLOTS / 2 + 1);
});

test("two hundred lines are kept, and the end takes the head's place", () => {
  const lines = Array.from({ length: 250 }, (_, at): RunEvent => ({ kind: "line", text: `${at}` }));
  const ended: RunEvent = { kind: "ended", head: { ...head, state: "ended", verdict: "fail" } };
  const after = advanced(null, [...begun, ...lines, ended]);
  assert.deepEqual([after?.lines.length, after?.lines[0]], [200, "50"]);
  assert.equal(after?.head.verdict, "fail");
});
