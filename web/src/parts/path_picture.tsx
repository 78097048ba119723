// A network as a path: the near end, what each link does to frames either way, the far end.

import type { JSX } from "preact";
import type { Link, Path } from "../api/types.ts";
import { type Stage, type Symbol, stagesOf } from "../figures/stages.ts";

export function PathPicture({ path }: { path: Path }): JSX.Element {
  return (
    <div class="path">
      <Way name="near to far" symbol="→" from="near end" to="far end" links={path.near_to_far} />
      <Way name="far to near" symbol="←" from="far end" to="near end" links={path.far_to_near} />
    </div>
  );
}

interface WayProps {
  name: string;
  symbol: string;
  from: string;
  to: string;
  links: readonly Link[];
}

function Way({ name, symbol, from, to, links }: WayProps): JSX.Element {
  return (
    <section class={`way ${symbol === "←" ? "back" : ""}`} aria-label={name}>
      <h3>
        <span aria-hidden="true">{symbol}</span> {name}
      </h3>
      <ol>
        <li class="end">{from}</li>
        {links.map((link, place) => (
          <li class="link" key={place}>
            {links.length > 1 && <span class="link-name">link {place + 1}</span>}
            <Stages stages={stagesOf(link)} />
          </li>
        ))}
        <li class="end">{to}</li>
      </ol>
    </section>
  );
}

function Stages({ stages }: { stages: Stage[] }): JSX.Element {
  if (stages.length === 0) {
    return <p class="hint">no limit, no delay, no loss</p>;
  }
  return (
    <ul>
      {stages.map((stage, place) => (
        <li class="stage" key={place}>
          <Drawn symbol={stage.symbol} />
          <b>{stage.name}</b>
          {stage.captions.map((caption) => (
            <span key={caption}>{caption}</span>
          ))}
        </li>
      ))}
    </ul>
  );
}

const DRAWN: Readonly<Record<Symbol, JSX.Element>> = {
  line: <path d="M2 9h28M2 19h28M7 14h12m-4-4 4 4-4 4" />,
  policer: <path d="M9 8v14h14V8M9 15h14M16 1v7m-3-3 3 3 3-3M16 22v3" />,
  shaper: <path d="M4 5l9 8v2l-9 8M28 5l-9 8v2l9 8M13 14h6" />,
  queue: <path d="M4 7h24v14H4M10 7v14M16 7v14M22 7v14" />,
  delay: <path d="M16 4a10 10 0 1 1 0 20 10 10 0 0 1 0-20M16 8v6l4 3" />,
  loss: <path d="M2 14h8M22 14h8M12 9l8 10M20 9l-8 10" />,
  mtu: <path d="M4 8h24v12H4zM10 14h12m-9-3-3 3 3 3m6-6 3 3-3 3" />,
  classes: <path d="M4 6h24M4 12h18M4 18h12M4 24h7" />,
  other: <path d="M6 6h20v16H6zM11 14h10" />,
};

function Drawn({ symbol }: { symbol: Symbol }): JSX.Element {
  return (
    <svg class="symbol" viewBox="0 0 32 28" width="32" height="28" aria-hidden="true">
      {DRAWN[symbol]}
    </svg>
  );
}
