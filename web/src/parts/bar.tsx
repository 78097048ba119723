// A share of the most as a bar with its figure.

import type { JSX } from "preact";

interface Props {
  share: number;
  ink: string;
  text: string;
  label: string;
}

export function Bar({ share, ink, text, label }: Props): JSX.Element {
  const wide = (part: number): string => `${(100 * Math.min(1, Math.max(0, part))).toFixed(2)}%`;
  return (
    <span class="bar" role="img" aria-label={`${label}: ${text}`}>
      <span class="bar-track">
        <span class={`bar-fill fill-${ink}`} style={{ width: wide(share) }} />
      </span>
      <span class="bar-text">
        <small>{ink === "download" ? "↓" : "↑"}</small> {text}
      </span>
    </span>
  );
}
