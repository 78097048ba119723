// A text with line numbers; what is wrong in it is marked at its line and said below.

import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { type Located, offsetOf } from "../figures/located.ts";

interface Props {
  text: string;
  wrong: Located | null;
  onText: (text: string) => void;
}

export function YamlEditor({ text, wrong, onText }: Props): JSX.Element {
  const area = useRef<HTMLTextAreaElement>(null);
  const lines = text.split("\n");
  const goThere = (): void => {
    if (wrong?.line && area.current) {
      const at = offsetOf(text, wrong.line, wrong.column);
      area.current.focus();
      area.current.setSelectionRange(at, at);
    }
  };
  return (
    <div class="editor">
      <label for="yaml">
        <h2>The file</h2>
      </label>
      <div class="editor-box">
        <ol class="editor-lines" aria-hidden="true">
          {lines.map((_, place) => (
            <li key={place} class={wrong?.line === place + 1 ? "wrong" : ""}>
              {place + 1}
            </li>
          ))}
        </ol>
        <textarea
          id="yaml"
          ref={area}
          spellcheck={false}
          autocomplete="off"
          wrap="off"
          rows={Math.max(8, lines.length)}
          aria-invalid={wrong !== null}
          aria-describedby={wrong ? "yaml-wrong" : undefined}
          value={text}
          onInput={(event) => onText(event.currentTarget.value)}
        />
      </div>
      {wrong && (
        <p class="problem" role="alert" id="yaml-wrong">
          <b>{wrong.line ? `Line ${wrong.line}, column ${wrong.column}:` : "Not a network:"}</b>{" "}
          {wrong.sentence}{" "}
          {wrong.line !== null && (
            <button type="button" class="quiet" onClick={goThere}>
              Go there
            </button>
          )}
        </p>
      )}
    </div>
  );
}
