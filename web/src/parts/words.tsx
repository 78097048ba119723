// Small parts that every page is made of: verdicts, notes, empty states, switches of view.

import type { ComponentChildren, JSX } from "preact";
import type { Tone } from "../api/types.ts";
import { useVerdict } from "../known.ts";

const MARKS: Readonly<Record<Tone, string>> = { good: "✓", bad: "✕", doubtful: "!", neutral: "i" };

export function VerdictMark({ verdict }: { verdict: string }): JSX.Element {
  const { tone, word } = useVerdict(verdict);
  return (
    <span class={`mark tone-${tone}`}>
      <span aria-hidden="true">{MARKS[tone]}</span>
      {word}
    </span>
  );
}

interface BannerProps {
  tone: Tone;
  word: string;
  sentence: string;
  children?: ComponentChildren;
}

export function Banner({ tone, word, sentence, children }: BannerProps): JSX.Element {
  return (
    <section class={`banner tone-${tone}`} aria-label="Verdict">
      <strong>
        <span aria-hidden="true">{MARKS[tone]}</span> {word}
      </strong>
      <p>{sentence}</p>
      {children}
    </section>
  );
}

interface VerdictBannerProps {
  verdict: string;
  /** The verdict with its figure and its main reason; without it, what the verdict means. */
  sentence?: string;
  children?: ComponentChildren;
}

export function VerdictBanner({ verdict, sentence, children }: VerdictBannerProps): JSX.Element {
  const { tone, word, sentence: about } = useVerdict(verdict);
  const shown = sentence?.startsWith(`${word}: `) ? sentence.slice(word.length + 2) : about;
  return (
    <Banner tone={tone} word={word} sentence={shown}>
      {children}
    </Banner>
  );
}

/** Across the whole page, so that a picture of it says it as well. */
export function Band({ word, sentence }: { word: string; sentence: string }): JSX.Element {
  return (
    <p class="band" role="note">
      <strong>{word}</strong> {sentence}
    </p>
  );
}

export function Problem({ text }: { text: string }): JSX.Element {
  return (
    <p class="problem" role="alert">
      <b>Not done:</b> {text}
    </p>
  );
}

interface EmptyProps {
  title: string;
  children: ComponentChildren;
}

export function Empty({ title, children }: EmptyProps): JSX.Element {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Waiting({ what }: { what: string }): JSX.Element {
  return (
    <p class="waiting" role="status">
      Reading {what} …
    </p>
  );
}

interface HeadProps {
  title: string;
  lead?: ComponentChildren;
  children?: ComponentChildren;
}

export function PageHead({ title, lead, children }: HeadProps): JSX.Element {
  return (
    <header class="page-head">
      <div>
        <h1 tabIndex={-1}>{title}</h1>
        {lead && <p class="lead">{lead}</p>}
      </div>
      {children && <div class="actions">{children}</div>}
    </header>
  );
}

interface ChoiceProps<T extends string> {
  legend: string;
  name: string;
  value: T;
  choices: readonly (readonly [T, string])[];
  onChoose: (value: T) => void;
}

/** A few words of which one is chosen. */
export function Choice<T extends string>(props: ChoiceProps<T>): JSX.Element {
  return (
    <fieldset class="choice">
      <legend>{props.legend}</legend>
      <div>
        {props.choices.map(([value, word]) => (
          <label key={value}>
            <input
              type="radio"
              name={props.name}
              value={value}
              checked={props.value === value}
              onChange={() => props.onChoose(value)}
            />
            <span>{word}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  id: string;
  children: ComponentChildren;
}

export function Field({ label, hint, id, children }: FieldProps): JSX.Element {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}
