// Curves over time: one panel, with a key that shows the values under the cursor.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { type Measure, measureOf } from "../figures/measure.ts";
import { colour, useShade } from "../theme.ts";
import type { Values } from "../series.ts";

export interface Curve {
  name: string;
  /** A colour of the style sheet. */
  ink: string;
  dash: readonly number[];
  values: Values;
  /** Between which the values under each point lie. */
  least?: Values;
  most?: Values;
}

export type Span = readonly [number, number];

/** Letters of the curves' names; more of them stand below the title. */
const MOST_BESIDE = 75;

interface Props {
  title: string;
  unit: string;
  t_s: number[];
  curves: Curve[];
  /** Panels of one name share the cursor. */
  sync: string;
  height: number;
  /** What of the time is shown; all of it where there is none. */
  span?: Span | null;
  onSpan?: (span: Span) => void;
  stepped?: boolean;
  onPlot?: (plot: uPlot | null) => void;
}

export function Chart(props: Props): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const shade = useShade();
  const [at, setAt] = useState<number | null>(null);
  const measure = useMemo(() => measureOf(props.unit, props.curves), [props.unit, props.curves]);
  const latest = useRef({ props, measure });
  latest.current = { props, measure };
  const shape = props.curves
    .map((curve) => [curve.name, curve.ink, curve.dash, curve.least !== undefined].join())
    .join(";");

  useEffect(() => {
    if (!box.current) {
      return;
    }
    const made = new uPlot(
      options(latest, box.current.clientWidth, setAt),
      dataOf(props.t_s, props.curves),
      box.current,
    );
    plot.current = made;
    props.onPlot?.(made);
    const follow = new ResizeObserver(([entry]) => {
      if (entry && entry.contentRect.width > 0) {
        made.setSize({ width: entry.contentRect.width, height: latest.current.props.height });
      }
    });
    follow.observe(box.current);
    return () => {
      follow.disconnect();
      made.destroy();
      plot.current = null;
      props.onPlot?.(null);
    };
  }, [shape, shade, props.sync, props.height, props.unit]);

  useEffect(() => {
    plot.current?.setData(dataOf(props.t_s, props.curves), false);
    plot.current?.batch(() => {
      const [from, until] = props.span ?? whole(props.t_s);
      plot.current?.setScale("x", { min: from, max: until });
      plot.current?.redraw(false, true);
    });
    pointedAgain(plot.current);
  }, [props.t_s, props.curves, props.span?.[0], props.span?.[1]]);

  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">
          {props.title}
          <small>{measure.unit}</small>
        </span>
        {at !== null && <span class="chart-time">at {timeShown(props.t_s[at])}</span>}
        <Key curves={props.curves} at={at} measure={measure} />
      </figcaption>
      <div
        class="chart-box"
        ref={box}
        tabIndex={0}
        role="img"
        aria-label={described(props, measure)}
        onKeyDown={(event) => stepped(event, plot.current)}
        onBlur={() => plot.current?.setCursor({ left: -10, top: -10 })}
      />
    </figure>
  );
}

/** Other data or another span lies under a cursor that did not move. */
function pointedAgain(plot: uPlot | null): void {
  const { left = -1, top = -1 } = plot?.cursor ?? {};
  if (left >= 0) {
    plot?.setCursor({ left, top });
  }
}

interface KeyProps {
  curves: Curve[];
  at: number | null;
  measure: Measure;
}

function Key({ curves, at, measure }: KeyProps): JSX.Element {
  const letters = curves.reduce((sum, curve) => sum + curve.name.length, 0);
  return (
    <ul class={letters > MOST_BESIDE ? "chart-key below" : "chart-key"}>
      {curves.map((curve) => (
        <li key={curve.name}>
          <svg viewBox="0 0 26 8" width="26" height="8" aria-hidden="true">
            <line
              x1="0"
              y1="4"
              x2="26"
              y2="4"
              class={`ink-${curve.ink}`}
              stroke-width="2"
              stroke-dasharray={curve.dash.join(" ")}
            />
          </svg>
          <span>{curve.name}</span>
          {at !== null && <b>{measure.shown(known(curve.values, at))}</b>}
        </li>
      ))}
    </ul>
  );
}

/** The value in force at a place: courses of other slots leave places open. */
function known(values: Values, at: number): number | null {
  for (let place = at; place >= Math.max(0, at - 50); place -= 1) {
    const value = values[place];
    if (value !== undefined) {
      return value;
    }
  }
  return null;
}

function described(props: Props, measure: Measure): string {
  const curves = props.curves.map((curve) => {
    const numbers = curve.values.filter((value): value is number => typeof value === "number");
    if (numbers.length === 0) {
      return `${curve.name}: nothing known`;
    }
    const [least, most] = numbers.reduce(
      ([low, high], value) => [Math.min(low, value), Math.max(high, value)],
      [Infinity, -Infinity],
    );
    return `${curve.name}: ${measure.shown(least)} to ${measure.shown(most)}`;
  });
  const [from, until] = props.span ?? whole(props.t_s);
  const time = `from ${timeShown(from)} to ${timeShown(until)}`;
  return `${props.title} ${time}. ${curves.join("; ")}. Arrow keys move the cursor.`;
}

export function timeShown(t_s: number | undefined): string {
  return t_s === undefined ? "" : `${t_s.toFixed(t_s < 100 ? 2 : 1)} s`;
}

function whole(t_s: readonly number[]): Span {
  const [from, until] = [t_s[0] ?? 0, t_s.at(-1) ?? 1];
  return until > from ? [from, until] : [from, from + 1];
}

function stepped(event: KeyboardEvent, plot: uPlot | null): void {
  const steps: Readonly<Record<string, number>> = {
    ArrowLeft: -1,
    ArrowRight: 1,
    PageUp: -20,
    PageDown: 20,
  };
  const by = steps[event.key];
  if (by === undefined || !plot) {
    return;
  }
  event.preventDefault();
  const t_s = plot.data[0];
  const { min, max } = plot.scales["x"] ?? {};
  const first = t_s.findIndex((t) => t >= (min ?? 0));
  const after = t_s.findIndex((t) => t > (max ?? Infinity));
  const last = (after === -1 ? t_s.length : after) - 1;
  const next = Math.min(last, Math.max(first, (plot.cursor.idx ?? first - by) + by));
  const left = plot.valToPos(t_s[next] ?? 0, "x");
  plot.setCursor({ left, top: plot.over.clientHeight / 2 });
}

function dataOf(t_s: number[], curves: readonly Curve[]): uPlot.AlignedData {
  const rows = curves.flatMap((curve) =>
    curve.least && curve.most ? [curve.values, curve.most, curve.least] : [curve.values],
  );
  return [t_s, ...rows] as uPlot.AlignedData;
}

interface Latest {
  current: { props: Props; measure: Measure };
}

function options(latest: Latest, width: number, setAt: (at: number | null) => void): uPlot.Options {
  const { props } = latest.current;
  const { series, bands } = drawn(props);
  const zooms = props.onSpan !== undefined;
  return {
    width: Math.max(width, 100),
    height: props.height,
    padding: [6, 14, 0, 0],
    legend: { show: false },
    scales: {
      x: { time: false },
      y: { range: (_, least, most) => heights(props.unit, least, most) },
    },
    axes: axes(latest),
    series: [{}, ...series],
    bands,
    cursor: {
      sync: { key: props.sync, scales: ["x", null] },
      drag: { x: zooms, y: false, setScale: false },
      points: { size: 6 },
      y: false,
    },
    hooks: {
      setCursor: [(plot) => setAt((plot.cursor.left ?? -1) < 0 ? null : (plot.cursor.idx ?? null))],
      setSelect: [
        (plot) => {
          const { left, width: wide } = plot.select;
          if (zooms && wide > 4) {
            const span = [plot.posToVal(left, "x"), plot.posToVal(left + wide, "x")] as const;
            latest.current.props.onSpan?.(span);
            plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
          }
        },
      ],
    },
  };
}

/** Amounts are drawn from zero, so that heights can be compared; times fill the panel. */
function heights(unit: string, least: number | null, most: number | null): [number, number] {
  const [low, high] = [least ?? 0, most ?? 1];
  if (unit !== "ms" && unit !== "us" && unit !== "s") {
    return [Math.min(0, low), high > 0 ? high * 1.08 : 1];
  }
  const room = Math.max(0.12 * (high - low), 0.02 * high, 1e-9);
  return [Math.max(0, low - room), high + room];
}

function drawn(props: Props): { series: uPlot.Series[]; bands: uPlot.Band[] } {
  const series: uPlot.Series[] = [];
  const bands: uPlot.Band[] = [];
  const paths = props.stepped ? uPlot.paths.stepped?.({ align: 1 }) : undefined;
  for (const curve of props.curves) {
    const stroke = colour(curve.ink);
    series.push({
      label: curve.name,
      stroke,
      width: 1.6,
      dash: [...curve.dash],
      points: { show: false },
      ...(paths ? { paths } : {}),
    });
    if (curve.least && curve.most) {
      const edge = { stroke: "transparent", width: 0, points: { show: false } };
      const place = series.push(edge, { ...edge });
      bands.push({ series: [place - 1, place], fill: faint(stroke) });
    }
  }
  return { series, bands };
}

function faint(stroke: string): string {
  return stroke.replace(/^rgb\((.+)\)$/, "rgba($1, 0.16)");
}

function axes(latest: Latest): uPlot.Axis[] {
  const [ink, line] = [colour("ink-soft"), colour("line")];
  const font = '11px system-ui, "DejaVu Sans", sans-serif';
  const common = {
    stroke: ink,
    font,
    grid: { stroke: line, width: 1 },
    ticks: { stroke: line, width: 1, size: 4 },
  };
  return [
    {
      ...common,
      size: 30,
      space: 70,
      values: (_, ticks) => ticks.map((tick) => `${Number(tick.toFixed(6))} s`),
    },
    {
      ...common,
      size: 52,
      space: 28,
      values: (_, ticks) => ticks.map((tick) => latest.current.measure.tick(tick)),
    },
  ];
}
