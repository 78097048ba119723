// The trials of a run so far, with what each TCP trial carried beside the best of them.

import type { JSX } from "preact";
import type { Trial } from "../api/types.ts";
import { DIRECTIONS } from "../figures/live.ts";
import { rate } from "../quantity.ts";
import { Bar } from "./bar.tsx";

export function TrialList({
  trials,
  ended,
}: {
  trials: Trial[];
  ended: boolean;
}): JSX.Element | null {
  if (trials.length === 0) {
    return null;
  }
  const carried = trials.map(carriedBy);
  const most = Math.max(1, ...carried.flat().map(([, bps]) => bps));
  return (
    <section class="panel">
      <h2>
        Trials <small>{trials.length}</small>
      </h2>
      <ol class="trials">
        {trials.map((trial, place) => (
          <li key={place} class={trial.finished || ended ? "" : "now"}>
            <span class="trial-name">
              {trial.name}
              <small>{[...new Set(trial.flows.map((flow) => flow.label))].join(", ")}</small>
            </span>
            <span class="trial-found">
              {carried[place]?.map(([direction, bps]) => (
                <Bar
                  key={direction}
                  share={bps / most}
                  ink={direction}
                  text={rate(bps)}
                  label={`${direction}, mean received`}
                />
              ))}
              {carried[place]?.length === 0 && (
                <span class="trial-said">
                  {trial.finished
                    ? (trial.summary ?? "done")
                    : ended
                      ? "broken off"
                      : "under way …"}
                </span>
              )}
            </span>
          </li>
        ))}
      </ol>
      {carried.flat().length > 0 && (
        <p class="hint">
          Bars: mean rate of payload (l4) received in the steady time of finished TCP trials,
          against the highest.
        </p>
      )}
    </section>
  );
}

function carriedBy(trial: Trial): [direction: "download" | "upload", bps: number][] {
  if (!trial.finished || !trial.flows.some((flow) => flow.kind === "tcp")) {
    return [];
  }
  return DIRECTIONS.flatMap((direction) => {
    const bps = trial.received_bps[direction];
    return bps === null ? [] : [[direction, bps] as [typeof direction, number]];
  });
}
