// One option of a method: a switch, a choice, a value or several of them, with its help.

import type { JSX } from "preact";
import type { MethodOption } from "../api/types.ts";

interface Props {
  option: MethodOption;
  given: readonly string[];
  onGive: (given: string[]) => void;
}

export function OptionField({ option, given, onGive }: Props): JSX.Element {
  const id = `option-${option.name}`;
  const value = given[0] ?? "";
  if (option.value_name === null) {
    return (
      <div class={`field switch ${value === "true" ? "set" : ""}`}>
        <label for={id}>
          <input
            id={id}
            type="checkbox"
            aria-describedby={`${id}-hint`}
            checked={value === "true"}
            onChange={(event) => onGive(event.currentTarget.checked ? ["true"] : [])}
          />
          {name(option)}
        </label>
        <Hint id={id} option={option} />
      </div>
    );
  }
  return (
    <div class={`field ${value.trim() === "" ? "" : "set"}`}>
      <label for={id}>
        {name(option)}
        {option.required && <small>needed</small>}
        <code>{option.value_name}</code>
      </label>
      {option.choices.length > 0 && !option.many ? (
        <select
          id={id}
          aria-describedby={`${id}-hint`}
          value={value}
          onChange={(event) => onGive(asList(event.currentTarget.value))}
        >
          <option value="">
            {option.default === null ? "not given" : `${option.default} (default)`}
          </option>
          {option.choices.map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </select>
      ) : (
        <Inputs id={id} option={option} given={given} onGive={onGive} />
      )}
      <Hint id={id} option={option} />
    </div>
  );
}

/** An option that may be repeated has a further, empty line below those that are filled. */
function Inputs({ id, option, given, onGive }: Props & { id: string }): JSX.Element {
  const lines = option.many ? [...given, ""] : [given[0] ?? ""];
  return (
    <>
      {lines.map((line, place) => (
        <input
          key={place}
          id={place === 0 ? id : undefined}
          aria-label={place === 0 ? undefined : `${name(option)}, ${place + 1}`}
          aria-describedby={`${id}-hint`}
          autocomplete="off"
          spellcheck={false}
          required={option.required && place === 0}
          placeholder={option.default ?? ""}
          list={option.choices.length > 0 ? `${id}-choices` : undefined}
          value={line}
          onInput={(event) => {
            const next = [...lines];
            next[place] = event.currentTarget.value;
            onGive(next.filter((text, at) => text !== "" || at < place));
          }}
        />
      ))}
      {option.choices.length > 0 && (
        <datalist id={`${id}-choices`}>
          {option.choices.map((choice) => (
            <option key={choice} value={choice} />
          ))}
        </datalist>
      )}
    </>
  );
}

function Hint({ id, option }: { id: string; option: MethodOption }): JSX.Element {
  return (
    <p class="hint" id={`${id}-hint`}>
      {option.help}
    </p>
  );
}

function asList(value: string): string[] {
  return value === "" ? [] : [value];
}

function name(option: MethodOption): string {
  return option.name.replaceAll(/[-_]/g, " ");
}
