// Two results side by side: which figures changed, and whether beyond the noise.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { compare, comparePage, results } from "../api/client.ts";
import type { ComparedFigure, ComparedRun, Comparison, ResultHead } from "../api/types.ts";
import { useAsked } from "../asked.ts";
import { fieldName, fieldValue } from "../fields.ts";
import { type Column, Facts, Table } from "../parts/table.tsx";
import { Empty, Field, PageHead, Problem, VerdictMark, Waiting } from "../parts/words.tsx";
import { UNKNOWN, fixed, moment } from "../quantity.ts";
import { go, href } from "../routes.ts";

interface Props {
  first: string | null;
  second: string | null;
}

export function ComparePage({ first, second }: Props): JSX.Element {
  return first === null || second === null ? (
    <Pick />
  ) : (
    <Compare key={`${first} ${second}`} first={first} second={second} />
  );
}

function Pick(): JSX.Element {
  const page = useAsked("recent", (stop) => results(new URLSearchParams({ limit: "100" }), stop));
  const heads = page.value?.results ?? [];
  const [before, setBefore] = useState("");
  const [after, setAfter] = useState("");
  const chosen = heads.find((head) => head.id === before);
  const second = heads.filter((head) => head.method === chosen?.method && head.id !== before);
  return (
    <>
      <PageHead
        title="Compare"
        lead="Two results of one method: what changed, beyond the noise or not."
      />
      {page.error && <Problem text={page.error} />}
      {!page.value && page.waiting && <Waiting what="the history" />}
      {page.value && heads.length < 2 && (
        <Empty title="There are not two results yet">
          <p>Run the same method twice, say before and after a change, and compare here.</p>
          <a class="button" href="#/run">
            Plan a run
          </a>
        </Empty>
      )}
      {heads.length >= 2 && (
        <section class="panel">
          <div class="fields">
            <Pickable id="before" label="Before" heads={heads} value={before} onPick={setBefore} />
            <Pickable id="after" label="After" heads={second} value={after} onPick={setAfter} />
          </div>
          <button
            type="button"
            class="primary"
            disabled={!second.some((head) => head.id === after)}
            onClick={() => go(["compare", before, after])}
          >
            Compare
          </button>
        </section>
      )}
    </>
  );
}

interface PickableProps {
  id: string;
  label: string;
  heads: ResultHead[];
  value: string;
  onPick: (id: string) => void;
}

function Pickable({ id, label, heads, value, onPick }: PickableProps): JSX.Element {
  return (
    <Field id={id} label={label}>
      <select id={id} value={value} onChange={(event) => onPick(event.currentTarget.value)}>
        <option value="">choose a result</option>
        {heads.map((head) => (
          <option key={head.id} value={head.id}>
            {moment(head.started)}, {head.method}, {head.across}, {head.verdict}
          </option>
        ))}
      </select>
    </Field>
  );
}

const BEYOND = ["better", "worse", "changed"];
const WORDS: Readonly<Record<string, [mark: string, word: string, tone: string]>> = {
  better: ["▲", "BETTER", "good"],
  worse: ["▼", "WORSE", "bad"],
  changed: ["◆", "CHANGED", "doubtful"],
  same: ["=", "the same", "neutral"],
  within_noise: ["≈", "within the noise", "neutral"],
  noise_unknown: ["?", "noise not known", "neutral"],
};

function Compare({ first, second }: { first: string; second: string }): JSX.Element {
  const asked = useAsked(`${first} ${second}`, (stop) => compare(first, second, stop));
  const found = asked.value;
  return (
    <>
      <PageHead title="Compare" {...(found ? { lead: found.method } : {})}>
        <a class="button" href={href(["compare", second, first])}>
          Swap
        </a>
        <a class="button" href={href(["explore", second], new URLSearchParams({ with: first }))}>
          Curves over one another
        </a>
        <a class="button" href={comparePage(first, second)} target="_blank" rel="noopener">
          As a document
        </a>
      </PageHead>
      {asked.error && <Problem text={asked.error} />}
      {!found && asked.waiting && <Waiting what="both results" />}
      {found && <Found found={found} />}
    </>
  );
}

function Found({ found }: { found: Comparison }): JSX.Element {
  const beyond = found.figures.filter((figure) => BEYOND.includes(figure.judgement));
  const rest = found.figures.filter((figure) => !BEYOND.includes(figure.judgement));
  return (
    <>
      <section class="pair">
        <Run name="First" run={found.first} />
        <Run name="Second" run={found.second} />
      </section>
      <p class="sentence">{sentence(found.figures)}</p>
      {found.plan_differs_in.length > 0 && (
        <section class="panel">
          <Table
            caption="They were not asked the same"
            columns={[{ head: "input" }, { head: "first" }, { head: "second" }]}
            rows={found.plan_differs_in.map((one) => [one.input, one.first, one.second])}
          />
        </section>
      )}
      <section class="panel">
        {beyond.length > 0 ? (
          <Figures caption="Beyond the noise" figures={beyond} />
        ) : (
          <p>No figure differs beyond the noise.</p>
        )}
      </section>
      <details class="panel" open={beyond.length === 0}>
        <summary>
          Everything else that was measured <small>{rest.length} figures</small>
        </summary>
        <Figures caption="What did not change, or cannot be told" figures={rest} />
      </details>
      <p class="hint">
        A difference counts as a change where it is larger than what chance makes of it in 99 of 100
        cases.
        {found.repeats > 0
          ? ` The noise is taken from ${found.repeats} other runs of the same.`
          : " The history has too few other runs of the same to take the noise from."}
      </p>
    </>
  );
}

function Run({ name, run }: { name: string; run: ComparedRun }): JSX.Element {
  return (
    <div class="panel">
      <h2>
        {name} <VerdictMark verdict={run.verdict} />
      </h2>
      <Facts
        facts={[
          ["began", moment(run.started)],
          ["across", run.across],
          ["result", <a href={href(["results", run.id])}>{run.id}</a>],
        ]}
      />
    </div>
  );
}

function sentence(figures: readonly ComparedFigure[]): string {
  const count = (judgement: string): number =>
    figures.filter((figure) => figure.judgement === judgement).length;
  const beyond = BEYOND.reduce((sum, judgement) => sum + count(judgement), 0);
  const parts = BEYOND.filter((judgement) => count(judgement) > 0).map(
    (judgement) => `${count(judgement)} ${judgement}`,
  );
  const told = parts.length > 0 ? `: ${parts.join(", ")}` : "";
  const unknown = count("noise_unknown");
  const open = unknown > 0 ? ` Of ${unknown} that differ the noise is not known.` : "";
  return `${beyond} of ${figures.length} figures differ beyond the noise${told}.${open}`;
}

const COLUMNS: Column[] = [
  { head: "step" },
  { head: "figure" },
  { head: "first", figure: true },
  { head: "second", figure: true },
  { head: "difference", figure: true },
  { head: "noise", figure: true },
  { head: "judged" },
];

function Figures({
  caption,
  figures,
}: {
  caption: string;
  figures: ComparedFigure[];
}): JSX.Element {
  return (
    <Table
      caption={caption}
      columns={COLUMNS}
      rows={figures.map((one) => [
        one.step,
        fieldName(one.figure),
        fieldValue(one.figure, one.first),
        fieldValue(one.figure, one.second),
        difference(one),
        one.noise === null ? UNKNOWN : `± ${fieldValue(one.figure, one.noise)}`,
        <Judged judgement={one.judgement} />,
      ])}
    />
  );
}

function difference({ first, second }: ComparedFigure): string {
  if (first === null || second === null || first === 0) {
    return UNKNOWN;
  }
  const percent = (100 * (second - first)) / Math.abs(first);
  return `${percent < 0 ? "−" : "+"}${fixed(Math.abs(percent), 1)} %`;
}

function Judged({ judgement }: { judgement: string }): JSX.Element {
  const [mark, word, tone] = WORDS[judgement] ?? ["?", judgement.replaceAll("_", " "), "neutral"];
  return (
    <span class={`judged tone-${tone}`}>
      <span aria-hidden="true">{mark}</span> {word}
    </span>
  );
}
