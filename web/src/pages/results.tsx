// What was measured before: filtered, two chosen to be compared, one opened.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { results } from "../api/client.ts";
import { LABELS, type ResultHead } from "../api/types.ts";
import { useAsked } from "../asked.ts";
import { useKnown } from "../known.ts";
import { Sparkline } from "../parts/sparkline.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Empty, PageHead, Problem, VerdictMark, Waiting } from "../parts/words.tsx";
import { UNKNOWN, grouped, moment, took } from "../quantity.ts";
import { href, settle } from "../routes.ts";

const LIMIT = 50;
const TEXTS = ["across", ...LABELS] as const;

export function ResultsPage({ query }: { query: URLSearchParams }): JSX.Element {
  const offset = Number(query.get("offset") ?? "0") || 0;
  const asked = new URLSearchParams(query);
  asked.set("limit", String(LIMIT));
  asked.set("offset", String(offset));
  const page = useAsked(asked.toString(), (stop) => results(asked, stop), 150);
  const [chosen, setChosen] = useState<string[]>([]);
  const choose = (id: string, on: boolean): void =>
    setChosen((before) => (on ? [...before, id].slice(-2) : before.filter((one) => one !== id)));
  return (
    <>
      <PageHead title="Results" lead="Every run that was kept, newest first.">
        <CompareLink chosen={chosen} heads={page.value?.results ?? []} />
      </PageHead>
      <Filters query={query} />
      {page.error && <Problem text={page.error} />}
      {!page.value && page.waiting && <Waiting what="the history" />}
      {page.value && page.value.results.length === 0 && <None filtered={[...query].length > 0} />}
      {page.value && page.value.results.length > 0 && (
        <section class={page.waiting ? "panel stale" : "panel"}>
          <Table
            caption="Results"
            hideCaption
            columns={COLUMNS}
            rows={page.value.results.map((head) => row(head, chosen, choose))}
          />
          <Pages query={query} offset={offset} count={page.value.count} />
        </section>
      )}
    </>
  );
}

const COLUMNS: Column[] = [
  { head: "compare" },
  { head: "began" },
  { head: "method" },
  { head: "across" },
  { head: "verdict" },
  { head: "main figure", figure: true },
  { head: "course" },
  { head: "took", figure: true },
  { head: "labels" },
];

function row(
  head: ResultHead,
  chosen: string[],
  choose: (id: string, on: boolean) => void,
): JSX.Element[] {
  const name = `${head.method} of ${moment(head.started)}`;
  const labels = LABELS.flatMap((label) => head.labels[label] ?? []);
  return [
    <input
      type="checkbox"
      aria-label={`Choose ${name} for comparison`}
      checked={chosen.includes(head.id)}
      onChange={(event) => choose(head.id, event.currentTarget.checked)}
    />,
    <a class="nowrap" href={href(["results", head.id])} aria-label={`Open ${name}`}>
      {moment(head.started)}
    </a>,
    <>{head.method}</>,
    <>{head.across}</>,
    <VerdictMark verdict={head.verdict} />,
    head.figure ? (
      <span class="head-figure">
        <b>{head.figure.shown}</b>
        <small>{head.figure.name}</small>
      </span>
    ) : (
      <>{UNKNOWN}</>
    ),
    <Sparkline course={head.course} label={`Course of ${head.course.length} runs of the same`} />,
    <>{head.duration_s === null ? UNKNOWN : took(head.duration_s)}</>,
    <span class="labels">{labels.length > 0 ? labels.join(" · ") : UNKNOWN}</span>,
  ];
}

function CompareLink({ chosen, heads }: { chosen: string[]; heads: ResultHead[] }): JSX.Element {
  const places = chosen.map((id) => heads.findIndex((head) => head.id === id));
  const [first, second] = [...chosen].sort(
    (a, b) => (places[chosen.indexOf(b)] ?? 0) - (places[chosen.indexOf(a)] ?? 0),
  );
  if (first === undefined || second === undefined) {
    return (
      <p class="hint">
        {chosen.length === 1 ? "Choose one more to compare." : "Choose two to compare them."}
      </p>
    );
  }
  return (
    <a class="button primary" href={href(["compare", first, second])}>
      Compare these two
    </a>
  );
}

function Filters({ query }: { query: URLSearchParams }): JSX.Element {
  const known = useKnown();
  const set = (name: string, value: string): void => {
    const next = new URLSearchParams(query);
    next.delete("offset");
    if (value.trim() === "") {
      next.delete(name);
    } else {
      next.set(name, value);
    }
    settle(["results"], next);
  };
  const choice = (name: string, values: readonly { name: string }[]): JSX.Element => (
    <label>
      <span>{name}</span>
      <select
        value={query.get(name) ?? ""}
        onChange={(event) => set(name, event.currentTarget.value)}
      >
        <option value="">any</option>
        {values.map(({ name: value }) => (
          <option key={value} value={value}>
            {value}
          </option>
        ))}
      </select>
    </label>
  );
  const text = (name: string): JSX.Element => (
    <label key={name}>
      <span>{name}</span>
      <input
        type="text"
        value={query.get(name) ?? ""}
        onInput={(event) => set(name, event.currentTarget.value)}
      />
    </label>
  );
  const day = (name: string): JSX.Element => (
    <label>
      <span>{name}</span>
      <input
        type="date"
        value={query.get(name) ?? ""}
        onInput={(event) => set(name, event.currentTarget.value)}
      />
    </label>
  );
  const given = [...query.keys()].filter((name) => name !== "offset").length;
  return (
    <search class="panel filters" aria-label="Filter the results">
      {choice("method", known?.methods ?? [])}
      {choice("verdict", known?.verdicts ?? [])}
      {TEXTS.map(text)}
      {day("since")}
      {day("until")}
      <button
        type="button"
        class="quiet"
        disabled={given === 0}
        onClick={() => settle(["results"])}
      >
        Clear filters
      </button>
    </search>
  );
}

function None({ filtered }: { filtered: boolean }): JSX.Element {
  return filtered ? (
    <Empty title="No result is like this">
      <p>No run that was kept meets all of these filters.</p>
      <a class="button" href="#/results">
        Show all results
      </a>
    </Empty>
  ) : (
    <Empty title="Nothing was kept yet">
      <p>Every run that measures is kept with its evidence and listed here when it has ended.</p>
      <a class="button" href="#/run">
        Plan a run
      </a>
    </Empty>
  );
}

interface PagesProps {
  query: URLSearchParams;
  offset: number;
  count: number;
}

function Pages({ query, offset, count }: PagesProps): JSX.Element {
  const to = (place: number): string => {
    const next = new URLSearchParams(query);
    next.set("offset", String(Math.max(0, place)));
    return href(["results"], next);
  };
  const last = Math.min(offset + LIMIT, count);
  return (
    <nav class="pages" aria-label="Pages of results">
      <span>
        {grouped(offset + 1)} to {grouped(last)} of {grouped(count)}
      </span>
      {offset > 0 && <a href={to(offset - LIMIT)}>Newer</a>}
      {last < count && <a href={to(offset + LIMIT)}>Older</a>}
    </nav>
  );
}
