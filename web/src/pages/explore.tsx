// Explore what was recorded of a run: any counters over time, beside those of a second run.

import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type uPlot from "uplot";
import { counterCourse, counters as countersOf, results } from "../api/client.ts";
import type { Counter, CounterCourse, ResultHead } from "../api/types.ts";
import { useAsked } from "../asked.ts";
import { counterpart, firstLook } from "../figures/counters.ts";
import { Chart, type Curve, type Span, timeShown } from "../parts/chart.tsx";
import { CounterTree } from "../parts/counter_tree.tsx";
import { saveCsv, savePicture } from "../parts/save.ts";
import { Empty, PageHead, Problem, VerdictMark, Waiting } from "../parts/words.tsx";
import { moment } from "../quantity.ts";
import { href, settle } from "../routes.ts";
import { type Sheet, asCsv, merged } from "../series.ts";

interface Props {
  id: string | null;
  query: URLSearchParams;
}

export function ExplorePage({ id, query }: Props): JSX.Element {
  return id === null ? <Pick /> : <Explore id={id} query={query} />;
}

function Pick(): JSX.Element {
  const page = useAsked("recent", (stop) => results(new URLSearchParams({ limit: "20" }), stop));
  return (
    <>
      <PageHead title="Explore" lead="Any counter of a run over time. Choose the run." />
      {page.error && <Problem text={page.error} />}
      {page.value?.results.length === 0 && (
        <Empty title="Nothing to explore yet">
          <p>A run's counters can be explored when it has ended and was kept.</p>
          <a class="button" href="#/run">
            Plan a run
          </a>
        </Empty>
      )}
      <ul class="pick">
        {page.value?.results.map((head) => (
          <li key={head.id}>
            <a href={href(["explore", head.id])}>
              <b>{head.method}</b>
              <span>{head.across}</span>
              <small>{moment(head.started)}</small>
              <VerdictMark verdict={head.verdict} />
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}

function Explore({ id, query }: { id: string; query: URLSearchParams }): JSX.Element {
  const known = useAsked(id, (stop) => countersOf(id, stop));
  const second = query.get("with");
  const others = useAsked(second, (stop) => countersOf(second ?? "", stop));
  const chosen = query.getAll("c");
  const span = spanOf(query);
  const change = (edit: (next: URLSearchParams) => void): void => {
    const next = new URLSearchParams(query);
    edit(next);
    settle(["explore", id], next);
  };
  const choose = (ids: readonly string[]): void =>
    change((next) => {
      next.delete("c");
      for (const one of ids) {
        next.append("c", one);
      }
    });
  const zoom = (to: Span | null): void => change((next) => setSpan(next, to));
  useEffect(() => {
    if (known.value && chosen.length === 0 && !query.has("c")) {
      choose(firstLook(known.value));
    }
  }, [known.value]);
  return (
    <>
      <PageHead
        title="Explore"
        lead="Drag across a panel to zoom; the cursor shows the values of all panels."
      >
        <a class="button" href={href(["results", id])}>
          The result
        </a>
      </PageHead>
      {(known.error ?? others.error) && <Problem text={known.error ?? others.error ?? ""} />}
      {!known.value && !known.error && <Waiting what="the counters" />}
      {known.value?.length === 0 && (
        <Empty title="No course was recorded">
          <p>The trials of this run have counts, but no values over time.</p>
          <a class="button" href={href(["results", id])}>
            Open the result
          </a>
        </Empty>
      )}
      {known.value && known.value.length > 0 && (
        <div class="explore">
          <CounterTree counters={known.value} chosen={chosen} onChoose={choose} />
          <div class="stack">
            <Overlay
              id={id}
              second={second}
              onChoose={(other) =>
                change((next) => (other === "" ? next.delete("with") : next.set("with", other)))
              }
            />
            <Panels
              id={id}
              second={second}
              own={known.value}
              others={second === null ? [] : (others.value ?? [])}
              chosen={chosen}
              span={span}
              onSpan={zoom}
            />
          </div>
        </div>
      )}
    </>
  );
}

function spanOf(query: URLSearchParams): Span | null {
  const [from, until] = [Number(query.get("from") ?? NaN), Number(query.get("until") ?? NaN)];
  return Number.isFinite(from) && Number.isFinite(until) && until > from ? [from, until] : null;
}

function setSpan(query: URLSearchParams, span: Span | null): void {
  query.delete("from");
  query.delete("until");
  if (span) {
    query.set("from", span[0].toFixed(6));
    query.set("until", span[1].toFixed(6));
  }
}

interface OverlayProps {
  id: string;
  second: string | null;
  onChoose: (second: string) => void;
}

function Overlay({ id, second, onChoose }: OverlayProps): JSX.Element {
  const page = useAsked("recent", (stop) => results(new URLSearchParams({ limit: "50" }), stop));
  const heads = page.value?.results ?? [];
  const own = heads.find((head) => head.id === id);
  const same = heads.filter((head) => head.id !== id && (!own || head.method === own.method));
  return (
    <div class="panel overlay">
      {own && (
        <p>
          <b>{own.method}</b> across {own.across}, {moment(own.started)}
        </p>
      )}
      <label>
        <span>laid over it</span>
        <select value={second ?? ""} onChange={(event) => onChoose(event.currentTarget.value)}>
          <option value="">no second run</option>
          {second !== null && !same.some((head) => head.id === second) && (
            <option value={second}>run {second}</option>
          )}
          {same.map((head) => (
            <option key={head.id} value={head.id}>
              {nameOf(head)}
            </option>
          ))}
        </select>
      </label>
      {second !== null && (
        <a class="button" href={href(["compare", second, id])}>
          Compare the figures
        </a>
      )}
    </div>
  );
}

function nameOf(head: ResultHead): string {
  return `${moment(head.started)}, ${head.across}, ${head.verdict}`;
}

interface PanelsProps {
  id: string;
  second: string | null;
  own: Counter[];
  others: Counter[];
  chosen: string[];
  span: Span | null;
  onSpan: (span: Span | null) => void;
}

/** A counter to be drawn. */
interface Wanted {
  run: string;
  counter: Counter;
  isSecond: boolean;
  /** Among the chosen counters; the same in both runs. */
  place: number;
}

interface Drawn {
  wanted: Wanted;
  course: CounterCourse;
}

function Panels({ id, second, own, others, chosen, span, onSpan }: PanelsProps): JSX.Element {
  const wanted = useMemo(
    () => wantedOf(id, second, own, others, chosen),
    [id, second, own, others, chosen.join()],
  );
  const key = JSON.stringify([wanted.map((one) => [one.run, one.counter.id]), span]);
  const drawn = useAsked(
    wanted.length > 0 ? key : null,
    (stop) => Promise.all(wanted.map((one) => courseOf(one, span, stop))),
    60,
  );
  const sheets = useMemo(() => panelsOf(drawn.value ?? []), [drawn.value]);
  const plots = useRef(new Map<string, uPlot>());
  const whole = wholeOf(wanted);
  if (chosen.length === 0) {
    return (
      <Empty title="No counter is chosen">
        <p>Choose one or several in the tree to see them over time.</p>
      </Empty>
    );
  }
  return (
    <section class={drawn.waiting ? "panel stack stale" : "panel stack"} aria-label="Curves">
      <Tools
        span={span}
        whole={whole}
        onSpan={onSpan}
        onCsv={() => saveCsv(asCsv(...tableOf(sheets)), `fullpipe-${id}-counters.csv`)}
        onPicture={() =>
          savePicture(
            sheets.flatMap((panel) => {
              const plot = plots.current.get(panel.unit);
              return plot ? [{ title: panel.title, curves: panel.curves, plot }] : [];
            }),
            `fullpipe-${id}.png`,
          )
        }
      />
      {drawn.error && <Problem text={drawn.error} />}
      {sheets.map((panel) => (
        <Chart
          key={panel.unit}
          title={panel.title}
          unit={panel.unit}
          t_s={panel.t_s}
          curves={panel.curves}
          sync={`explore-${id}`}
          height={sheets.length > 2 ? 190 : 260}
          span={span ?? whole}
          onSpan={onSpan}
          onPlot={(plot) => {
            if (plot) {
              plots.current.set(panel.unit, plot);
            } else {
              plots.current.delete(panel.unit);
            }
          }}
        />
      ))}
      <p class="hint">
        Time since each trial began: trials lie over one another.
        {drawn.value?.some(({ course }) => course.slots > course.t_s.length) && JOINED}
      </p>
    </section>
  );
}

function wantedOf(
  id: string,
  second: string | null,
  own: Counter[],
  others: Counter[],
  chosen: string[],
): Wanted[] {
  const picked = own.filter((counter) => chosen.includes(counter.id));
  return picked.flatMap((counter, place): Wanted[] => {
    const first = { run: id, counter, isSecond: false, place };
    const other = second === null ? null : counterpart(counter, own, others);
    return second === null || !other
      ? [first]
      : [first, { run: second, counter: other, isSecond: true, place }];
  });
}

async function courseOf(wanted: Wanted, span: Span | null, stop: AbortSignal): Promise<Drawn> {
  return { wanted, course: await counterCourse(wanted.run, wanted.counter.id, span, stop) };
}

function wholeOf(wanted: readonly Wanted[]): Span {
  const from = Math.min(...wanted.map(({ counter }) => counter.from_s));
  const until = Math.max(...wanted.map(({ counter }) => counter.until_s));
  return until > from ? [from, until] : [0, 1];
}

interface DrawnPanel {
  unit: string;
  title: string;
  t_s: number[];
  curves: Curve[];
}

const JOINED =
  " Lines are means of joined slots, and the shade behind them reaches from the smallest to the " +
  "largest: zoom in to see single slots.";

const INKS = ["download", "upload", "third", "fourth", "fifth", "sixth"];

function panelsOf(drawn: readonly Drawn[]): DrawnPanel[] {
  const units = [...new Set(drawn.map(({ course }) => course.unit))];
  return units.map((unit) => {
    const own = drawn.filter(({ course }) => course.unit === unit);
    const parts = (["mean", "min", "max"] as const).map((name) =>
      merged(own.map(({ course }) => ({ t_s: course.t_s, values: course[name] }))),
    );
    const curves = own.map(({ wanted }, at): Curve => {
      const { place, isSecond } = wanted;
      const [values = [], least = [], most = []] = parts.map((sheet) => sheet.curves[at]);
      return {
        name: curveName(wanted, own),
        ink: INKS[place % INKS.length] ?? "upload",
        dash: isSecond ? [3, 3] : place < INKS.length ? [] : [9, 3],
        values,
        ...(isSecond ? {} : { least, most }),
      };
    });
    const names = [...new Set(own.map(({ wanted }) => wanted.counter.counter))];
    return { unit, title: names.join(", "), t_s: parts[0]?.t_s ?? [], curves };
  });
}

/** Says of a counter what tells it from the others of its panel. */
function curveName({ counter, isSecond }: Wanted, own: readonly Drawn[]): string {
  const firsts = own.filter(({ wanted }) => !wanted.isSecond).map(({ wanted }) => wanted.counter);
  const trialOf = (one: Counter): string => one.id.split("/")[0] ?? "";
  const inTrial = firsts.filter((one) => one.trial === counter.trial);
  const alike = inTrial.filter((one) => one.counter === counter.counter);
  const parts = [
    counter.counter,
    new Set(firsts.map(trialOf)).size > 1
      ? `${Number(trialOf(counter)) + 1}. ${counter.trial}`
      : "",
    new Set(inTrial.map((one) => one.flow)).size > 1 ? counter.flow : "",
    new Set(alike.map((one) => one.end)).size > 1 ? `${counter.end} end` : "",
    isSecond ? "second run" : "",
  ];
  return parts.filter(Boolean).join(" · ");
}

function tableOf(panels: readonly DrawnPanel[]): [names: string[], sheet: Sheet] {
  const curves = panels.flatMap((panel) =>
    panel.curves.map((curve) => ({
      name: `${curve.name} (${panel.unit})`,
      t_s: panel.t_s,
      values: curve.values,
    })),
  );
  return [curves.map((curve) => curve.name), merged(curves)];
}

interface ToolsProps {
  span: Span | null;
  whole: Span;
  onSpan: (span: Span | null) => void;
  onCsv: () => void;
  onPicture: () => void;
}

function Tools({ span, whole, onSpan, onCsv, onPicture }: ToolsProps): JSX.Element {
  const [from, until] = span ?? whole;
  const [wide, middle] = [until - from, (from + until) / 2];
  const to = (start: number, end: number): void => {
    const part = [Math.max(whole[0], start), Math.min(whole[1], end)] as const;
    onSpan(part[0] <= whole[0] && part[1] >= whole[1] ? null : part);
  };
  const move = (by: number): void => {
    const shift = Math.min(Math.max(by, whole[0] - from), whole[1] - until);
    to(from + shift, until + shift);
  };
  const tool = (name: string, act: () => void, off = false): JSX.Element => (
    <button type="button" disabled={off} onClick={act}>
      {name}
    </button>
  );
  return (
    <div class="tools" role="toolbar" aria-label="Time and downloads">
      {tool("Zoom in", () => to(middle - wide / 4, middle + wide / 4))}
      {tool("Zoom out", () => to(middle - wide, middle + wide), span === null)}
      {tool("Earlier", () => move(-wide / 2), from <= whole[0])}
      {tool("Later", () => move(wide / 2), until >= whole[1])}
      {tool("Reset", () => onSpan(null), span === null)}
      <span class="tools-span">
        {timeShown(from)} to {timeShown(until)}
      </span>
      {tool("CSV", onCsv)}
      {tool("PNG", onPicture)}
    </div>
  );
}
