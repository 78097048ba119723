// Tables: figures to the right, and on a phone each row as a small list.

import type { ComponentChildren, JSX } from "preact";

export interface Column {
  head: string;
  /** To the right, in tabular figures. */
  figure?: boolean;
}

interface Props {
  caption: string;
  columns: readonly Column[];
  rows: readonly (readonly ComponentChildren[])[];
  note?: string;
  hideCaption?: boolean;
}

export function Table({ caption, columns, rows, note, hideCaption }: Props): JSX.Element {
  return (
    <div class="table">
      <table>
        <caption class={hideCaption ? "unseen" : ""}>{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.head} scope="col" class={column.figure ? "figure" : ""}>
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, place) => (
            <tr key={place}>
              {row.map((cell, at) => (
                <td
                  key={at}
                  class={columns[at]?.figure ? "figure" : ""}
                  data-head={columns[at]?.head}
                >
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {note && <p class="hint">{note}</p>}
    </div>
  );
}

/** Names beside their values. */
export function Facts({
  facts,
}: {
  facts: readonly { name: string; text: ComponentChildren }[];
}): JSX.Element {
  return (
    <dl class="facts">
      {facts.map(({ name, text }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}
