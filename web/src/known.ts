// What the server says of itself once: how methods and verdicts are called.

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { About, VerdictWords } from "./api/types.ts";

export const Known = createContext<About | null>(null);

export const useKnown = (): About | null => useContext(Known);

/** What people call a method; one of a later version by its own name. */
export function useTitle(method: string): string {
  return useKnown()?.methods.find((known) => known.name === method)?.title ?? method;
}

/** How a verdict is shown; one of a later version by its own name. */
export function useVerdict(verdict: string): VerdictWords {
  const known = useKnown()?.verdicts.find((one) => one.name === verdict);
  const word = verdict.toUpperCase();
  return known ?? { name: verdict, tone: "neutral", word, sentence: "This verdict is not known." };
}
