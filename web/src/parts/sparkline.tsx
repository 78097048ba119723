// The course of a figure over earlier runs, as small as a word.

import type { JSX } from "preact";

const [WIDE, HIGH, EDGE] = [84, 22, 3];

export function Sparkline({
  course,
  label,
}: {
  course: readonly number[];
  label: string;
}): JSX.Element | null {
  if (course.length < 2) {
    return null;
  }
  const [least, most] = [Math.min(...course), Math.max(...course)];
  const across = (WIDE - 2 * EDGE) / (course.length - 1);
  const up = (value: number): number =>
    most === least
      ? HIGH / 2
      : HIGH - EDGE - ((value - least) / (most - least)) * (HIGH - 2 * EDGE);
  const points = course.map((value, at) => [EDGE + at * across, up(value)] as const);
  const last = points.at(-1) ?? [0, 0];
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${WIDE} ${HIGH}`}
      width={WIDE}
      height={HIGH}
      role="img"
      aria-label={label}
    >
      <polyline points={points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ")} />
      <circle cx={last[0]} cy={last[1]} r="2.2" />
    </svg>
  );
}
