// The counters of a run below their trials and flows, to be ticked.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Counter } from "../api/types.ts";
import { treeOf } from "../figures/counters.ts";
import { inUnit } from "../quantity.ts";
import { SearchField } from "./search_field.tsx";

interface Props {
  counters: Counter[];
  chosen: readonly string[];
  onChoose: (ids: readonly string[]) => void;
}

export function CounterTree({ counters, chosen, onChoose }: Props): JSX.Element {
  const [wanted, setWanted] = useState("");
  const trials = useMemo(() => treeOf(counters, wanted), [counters, wanted]);
  const tick = (id: string, on: boolean): void =>
    onChoose(on ? [...chosen, id] : chosen.filter((one) => one !== id));
  return (
    <section class="panel tree" aria-label="Counters">
      <div class="panel-head">
        <SearchField
          things="counters"
          count={counters.length}
          wanted={wanted}
          onWanted={setWanted}
          chosen={chosen.length}
          onClear={() => onChoose([])}
        />
      </div>
      {trials.length === 0 && <p class="hint">No counter speaks of “{wanted}”.</p>}
      {trials.map((trial) => {
        const inside = chosen.filter((id) => id.startsWith(`${trial.place}/`)).length;
        return (
          <details key={trial.place} open={wanted !== "" || inside > 0 || trials.length === 1}>
            <summary>
              <span>
                {Number(trial.place) + 1}. {trial.name}
              </span>
              {inside > 0 && <small>{inside} chosen</small>}
            </summary>
            {trial.flows.map((flow) => (
              <fieldset key={flow.place}>
                <legend>{flow.name}</legend>
                {flow.counters.map((counter) => (
                  <label key={counter.id}>
                    <input
                      type="checkbox"
                      checked={chosen.includes(counter.id)}
                      onChange={(event) => tick(counter.id, event.currentTarget.checked)}
                    />
                    <span class="counter">
                      <span>
                        {counter.counter}{" "}
                        <small>{counter.end === "both" ? "both ends" : `${counter.end} end`}</small>
                      </span>
                      <small class="counter-range">
                        {inUnit(counter.min, counter.unit)} to {inUnit(counter.max, counter.unit)}
                      </small>
                    </span>
                  </label>
                ))}
              </fieldset>
            ))}
          </details>
        );
      })}
    </section>
  );
}
