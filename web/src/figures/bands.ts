// The bands across a result that nobody may take for a measurement of a real path.

import type { ResultDocument } from "../api/types.ts";
import { wordOf } from "../fields.ts";

export interface Band {
  word: "SIMULATION" | "INVALID" | "ABORTED";
  sentence: string;
}

const SIMULATION: Band = {
  word: "SIMULATION",
  sentence: "The network and its time were simulated: no packet was sent.",
};
const INVALID: Band = {
  word: "INVALID",
  sentence: "A self-check of the tester failed: this run says nothing about the path.",
};
const ABORTED: Band = {
  word: "ABORTED",
  sentence: "The run was broken off: what it did not measure is missing here.",
};

/** Each that applies, whatever the verdict says besides. */
export function bandsOf(
  result: Pick<ResultDocument, "far" | "verdict" | "validity">,
): readonly Band[] {
  const { far, verdict, validity } = result;
  return [
    ...(far && wordOf(far, "name") === "simulation" ? [SIMULATION] : []),
    ...(verdict.status === "invalid" || !validity.ok ? [INVALID] : []),
    ...(verdict.status === "aborted" ? [ABORTED] : []),
  ];
}
