// Two results side by side: which figures changed, and whether beyond the noise.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { compare, comparePage, results } from "../api/client.ts";
import type { ResultHead } from "../api/types.ts";
import { useAsked } from "../asked.ts";
import { Blocks } from "../parts/blocks.tsx";
import { Empty, Field, PageHead, Problem, Waiting } from "../parts/words.tsx";
import { moment } from "../quantity.ts";
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
        <a class="button" href={href(["results", first])}>
          First result
        </a>
        <a class="button" href={href(["results", second])}>
          Second result
        </a>
        <a class="button" href={comparePage(first, second)} target="_blank" rel="noopener">
          As a document
        </a>
      </PageHead>
      {asked.error && <Problem text={asked.error} />}
      {!found && asked.waiting && <Waiting what="both results" />}
      {found && <Blocks blocks={found.blocks} />}
    </>
  );
}
