// What was asked of the server: not there yet, there, or refused.

import { useEffect, useState } from "preact/hooks";

export interface Asked<T> {
  value: T | null;
  error: string | null;
  waiting: boolean;
}

/** Asks again whenever `key` changes; `null` asks nothing. The value before stays until then. */
export function useAsked<T>(
  key: string | null,
  ask: (stop: AbortSignal) => Promise<T>,
  delay_ms = 0,
): Asked<T> {
  const [asked, setAsked] = useState<Asked<T>>({ value: null, error: null, waiting: key !== null });
  useEffect(() => {
    if (key === null) {
      setAsked({ value: null, error: null, waiting: false });
      return;
    }
    const stop = new AbortController();
    setAsked((before) => ({ ...before, waiting: true }));
    const timer = setTimeout(() => {
      ask(stop.signal).then(
        (value) => {
          if (!stop.signal.aborted) {
            setAsked({ value, error: null, waiting: false });
          }
        },
        (failure: unknown) => {
          if (!stop.signal.aborted) {
            setAsked({ value: null, error: sentenceOf(failure), waiting: false });
          }
        },
      );
    }, delay_ms);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [key]);
  return asked;
}

export function sentenceOf(failure: unknown): string {
  return failure instanceof Error ? failure.message : String(failure);
}
