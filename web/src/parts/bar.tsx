// A share of the most as a bar with its figure; an ideal, where there is one, is a mark on it.

import type { JSX } from "preact";

interface Props {
  share: number;
  ideal?: number | null;
  ink: string;
  text: string;
  label: string;
}

export function Bar({ share, ideal, ink, text, label }: Props): JSX.Element {
  const wide = (part: number): string => `${(100 * Math.min(1, Math.max(0, part))).toFixed(2)}%`;
  return (
    <span class="bar" role="img" aria-label={`${label}: ${text}`}>
      <span class="bar-track">
        <span class={`bar-fill fill-${ink}`} style={{ width: wide(share) }} />
        {typeof ideal === "number" && <span class="bar-ideal" style={{ left: wide(ideal) }} />}
      </span>
      <span class="bar-text">
        <small>{ink === "download" ? "↓" : "↑"}</small> {text}
      </span>
    </span>
  );
}
