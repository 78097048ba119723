// Courses are added up and joined without losing or inventing anything.

import assert from "node:assert/strict";
import test from "node:test";
import type { Flow, Series, Trial } from "../src/api/types.ts";
import { asCsv, halved, merged, reached, starts, together } from "../src/series.ts";

function series(t_s: number[], received_bps: (number | null)[], dt = 0.5): Series {
  const none = t_s.map(() => null);
  return {
    t_s,
    dt_s: t_s.map(() => dt),
    sent_bps: received_bps.map((bps) => bps && 2 * bps),
    received_bps,
    retransmitted_bps: none,
    rtt_ms: t_s.map((_, slot) => 50 + slot),
    cwnd_bytes: none,
    active_connections: t_s.map((_, slot) => slot + 1),
  };
}

function trial(started_s: number, own: Series[]): Trial {
  const flow: Flow = {
    direction: "upload",
    kind: "tcp",
    connections: 1,
    dscp: 0,
    layer: 4,
    label: "TCP upload",
  };
  return {
    name: "a trial",
    started_s,
    lasts_s: 1,
    steady_s: [0, 1],
    finished: true,
    flows: own.map(() => flow),
    summary: null,
    received_bps: { download: null, upload: null },
    series: own,
  };
}

test("flows of equal slots are added slot by slot", () => {
  const lane = together([series([0, 0.5], [10, 20]), series([0, 0.5], [1, 2])]);
  assert.deepEqual(lane.t_s, [0, 0.5]);
  assert.deepEqual(lane.received_bps, [11, 22]);
  assert.deepEqual(lane.sent_bps, [22, 44]);
  assert.deepEqual(lane.rtt_ms, [50, 51], "of round trips the mean is taken");
});

test("active connections are added up, and of joined slots the most counts", () => {
  const flow = series([0, 0.5, 1], [10, 20, 30]);
  assert.deepEqual(together([flow, flow]).active_connections, [2, 4, 6]);
  assert.deepEqual(halved(flow).active_connections, [2, 3]);
});

test("flows of unequal slots are added wherever one of them changes", () => {
  const lane = together([series([0, 0.5], [10, 20]), series([0.25], [1])]);
  assert.deepEqual(lane.t_s, [0, 0.25, 0.5]);
  assert.deepEqual(lane.received_bps, [10, 11, 21]);
});

test("an unknown rate is not a rate of nothing", () => {
  const lane = together([series([0, 0.5], [null, 20])]);
  assert.deepEqual(lane.received_bps, [null, 20]);
  assert.deepEqual(lane.retransmitted_bps, [null, null]);
});

test("joining slots two and two keeps the amounts", () => {
  const before = series([0, 0.5, 1], [10, 30, 50]);
  const after = halved(before);
  assert.deepEqual(after.t_s, [0, 1]);
  assert.deepEqual(after.dt_s, [1, 0.5]);
  const bits = (one: Series): number =>
    one.received_bps.reduce<number>(
      (sum, bps, slot) => sum + (bps ?? 0) * (one.dt_s[slot] ?? 0),
      0,
    );
  assert.equal(bits(after), bits(before));
});

test("trials that a simulation ran at one moment are laid behind one another", () => {
  const trials = [
    trial(0, [series([0, 0.5], [1, 1])]),
    trial(0.001, [series([0], [1])]),
    trial(9, []),
  ];
  assert.deepEqual(starts(trials), [0, 1, 9]);
  assert.equal(reached(trials[0] as Trial), 1);
});

test("no line crosses a time of which a course knows that it knows nothing", () => {
  const sheet = merged([
    { t_s: [0, 1, 4, 5], values: [1, null, 7, 8] },
    { t_s: [2, 3], values: [3, 4] },
  ]);
  assert.deepEqual(sheet.t_s, [0, 1, 2, 3, 4, 5]);
  assert.deepEqual(sheet.curves[0], [1, null, null, null, 7, 8]);
  assert.deepEqual(sheet.curves[1]?.slice(2, 4), [3, 4]);
  assert.equal(sheet.curves[1]?.[0], undefined, "before its begin a course says nothing");
});

test("a spreadsheet computes nothing of a name", () => {
  const sheet = { t_s: [0], curves: [[5], [null]] };
  assert.equal(asCsv(["=cmd()", 'a "b", c'], sheet), `t_s,'=cmd(),"a ""b"", c"\r\n0,5,\r\n`);
});
