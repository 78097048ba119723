// The head of a panel that is searched: the field, and the button that clears what is chosen.

import type { JSX } from "preact";

interface Props {
  /** What is searched, in the plural. */
  things: string;
  count: number;
  wanted: string;
  onWanted: (wanted: string) => void;
  chosen: number;
  onClear: () => void;
}

export function SearchField(props: Props): JSX.Element {
  const { things, count, wanted, onWanted, chosen, onClear } = props;
  return (
    <>
      <input
        type="search"
        aria-label={`Search among the ${things}`}
        placeholder={`Search ${count} ${things}`}
        value={wanted}
        onInput={(event) => onWanted(event.currentTarget.value)}
      />
      <button type="button" class="quiet" disabled={chosen === 0} onClick={onClear}>
        Clear {chosen > 0 ? chosen : ""}
      </button>
    </>
  );
}
