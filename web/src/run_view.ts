// A run as it is seen so far, brought up to date by the events of its stream.

import { MOST_SLOTS, append, copied, emptySeries, halved } from "./series.ts";
import type { RunEvent, RunView, Sample, Trial, TrialEnd } from "./api/types.ts";

const MOST_LINES = 200;

/** The view after these events; nothing of the view before is changed. */
export function advanced(view: RunView | null, events: readonly RunEvent[]): RunView | null {
  let samples: Sample[] = [];
  let now = view;
  for (const event of events) {
    if (event.kind === "sample") {
      samples.push(event.sample);
      continue;
    }
    now = after(sampled(now, samples), event);
    samples = [];
  }
  return sampled(now, samples);
}

function after(view: RunView | null, event: Exclude<RunEvent, { kind: "sample" }>): RunView | null {
  if (event.kind === "view") {
    return event.view;
  }
  // What comes before the first view belongs to it already.
  if (!view) {
    return null;
  }
  switch (event.kind) {
    case "trial_started":
      return { ...view, trials: placed(view.trials, event.index, event.trial) };
    case "trial_finished":
      return { ...view, trials: finished(view.trials, event) };
    case "line":
      return { ...view, lines: [...view.lines, event.text].slice(-MOST_LINES) };
    case "ended":
      return { ...view, head: event.head };
  }
}

function placed(trials: readonly Trial[], index: number, trial: Trial): Trial[] {
  const next = [...trials];
  next[index] = trial;
  return next;
}

function finished(trials: readonly Trial[], end: TrialEnd): Trial[] {
  const { index, summary, received_bps, series } = end;
  return trials.map((trial, place) =>
    place === index ? { ...trial, finished: true, summary, received_bps, series } : trial,
  );
}

function sampled(view: RunView | null, samples: readonly Sample[]): RunView | null {
  if (!view || samples.length === 0) {
    return view;
  }
  const trials = [...view.trials];
  for (const index of new Set(samples.map((sample) => sample.index))) {
    const trial = trials[index];
    if (trial) {
      trials[index] = grown(
        trial,
        samples.filter((sample) => sample.index === index),
      );
    }
  }
  return { ...view, trials };
}

function grown(trial: Trial, samples: readonly Sample[]): Trial {
  const series = trial.flows.map((_, flow) => copied(trial.series[flow] ?? emptySeries()));
  for (const sample of samples) {
    const own = series[sample.flow];
    if (own) {
      append(own, sample);
    }
  }
  return {
    ...trial,
    series: series.map((own) => (own.t_s.length > MOST_SLOTS ? halved(own) : own)),
  };
}
