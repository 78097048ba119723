// What a run found, block by block as the server wrote it: every text in them is final.

import type { ComponentChildren, JSX } from "preact";
import type { Block, BlockCell, BlockFigure, BlockTable } from "../api/types.ts";
import { Facts, Table } from "./table.tsx";
import { Banner } from "./words.tsx";

export function Blocks({ blocks }: { blocks: readonly Block[] }): JSX.Element {
  return (
    <div class="tables">
      {blocks.map((block, place) => (
        <Shown key={place} block={block} />
      ))}
    </div>
  );
}

function Shown({ block }: { block: Block }): JSX.Element {
  if ("facts" in block) {
    return (
      <section class="panel wide">
        <Facts facts={block.facts} />
      </section>
    );
  }
  if ("table" in block) {
    return <ShownTable table={block.table} />;
  }
  if ("figures" in block) {
    return (
      <section class="panel wide figures">
        {block.figures.map((figure, place) => (
          <ShownFigure key={place} figure={figure} />
        ))}
      </section>
    );
  }
  if ("verdict" in block) {
    return (
      <div class="wide">
        <Banner {...block.verdict} />
      </div>
    );
  }
  if ("heading" in block) {
    return <h2 class="wide">{block.heading}</h2>;
  }
  if ("list" in block) {
    return (
      <ul class="wide">
        {block.list.map((item) => (
          <li key={item}>{item}</li>
        ))}
      </ul>
    );
  }
  return <p class="hint wide">{block.text}</p>;
}

function ShownTable({ table }: { table: BlockTable }): JSX.Element {
  const { caption, columns, rows, note } = table;
  // Small tables stand beside each other.
  const isSmall = columns.length <= 6 && rows.length <= 4;
  return (
    <section class={isSmall ? "panel" : "panel wide"}>
      <Table
        caption={caption}
        columns={columns.map(({ head, side }) => ({ head, figure: side === "right" }))}
        rows={rows.map((row) => row.map(toned))}
        {...(note ? { note } : {})}
      />
    </section>
  );
}

function toned({ text, tone }: BlockCell): ComponentChildren {
  return tone === "neutral" ? text : <b class={`tone-${tone}`}>{text}</b>;
}

/** As an image, in which nothing acts, whatever a label may contain. */
function ShownFigure({ figure }: { figure: BlockFigure }): JSX.Element {
  return (
    <figure class={figure.is_wide ? "whole" : ""}>
      <figcaption>{figure.caption}</figcaption>
      <img
        src={`data:image/svg+xml,${encodeURIComponent(figure.svg)}`}
        alt={figure.alternative}
      />
    </figure>
  );
}
