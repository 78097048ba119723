// The counters of a run as a tree, and those of a second run that are the same.

import type { Counter } from "../api/types.ts";

export interface TrialBranch {
  place: string;
  name: string;
  flows: { place: string; name: string; counters: Counter[] }[];
}

/** Counters whose names speak of all the words, below their trials and flows. */
export function treeOf(counters: readonly Counter[], wanted: string): TrialBranch[] {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  const trials: TrialBranch[] = [];
  for (const counter of counters) {
    const text = `${counter.trial} ${counter.flow} ${counter.end} ${counter.counter}`.toLowerCase();
    if (!words.every((word) => text.includes(word))) {
      continue;
    }
    const [trialPlace = "", flowPlace = ""] = counter.id.split("/");
    let trial = trials.find((one) => one.place === trialPlace);
    if (!trial) {
      trial = { place: trialPlace, name: counter.trial, flows: [] };
      trials.push(trial);
    }
    let flow = trial.flows.find((one) => one.place === flowPlace);
    if (!flow) {
      flow = { place: flowPlace, name: counter.flow, counters: [] };
      trial.flows.push(flow);
    }
    flow.counters.push(counter);
  }
  return trials;
}

/** What to show of a run before anybody has chosen: the first trial that received something. */
export function firstLook(counters: readonly Counter[]): string[] {
  const speaks = (counter: Counter, word: string): boolean => counter.counter.includes(word);
  const rates = counters.filter((one) => one.unit === "bit/s" && speaks(one, "received"));
  const start = rates.find((one) => one.trial.includes("throughput")) ?? rates[0];
  if (!start) {
    return counters.slice(0, 1).map((counter) => counter.id);
  }
  const trial = start.id.split("/")[0];
  const same = counters.filter((one) => one.id.split("/")[0] === trial && one.flow === start.flow);
  const wanted = ["received", "sent", "retransmi", "RTT", "round-trip"];
  return same
    .filter((one) => wanted.some((word) => speaks(one, word)) && one.max !== 0)
    .slice(0, 4)
    .map((counter) => counter.id);
}

/** The same counter of another run: of the same trial, and of equal ones the one at that place. */
export function counterpart(
  counter: Counter,
  own: readonly Counter[],
  others: readonly Counter[],
): Counter | null {
  const key = keyOf(counter);
  const place = own.filter((one) => keyOf(one) === key).indexOf(counter);
  const same = others.filter((one) => keyOf(one) === key);
  return same[place] ?? same[0] ?? null;
}

function keyOf(counter: Counter): string {
  const place = counter.id.split("/")[1] ?? "";
  return [counter.trial, place, counter.flow, counter.end, counter.counter].join("\n");
}
