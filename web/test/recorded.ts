// Results that were recorded once, for tests of what is made of a result.

import { readFileSync, readdirSync } from "node:fs";
import { inflateSync } from "node:zlib";
import type { Fields, ResultDocument } from "../src/api/types.ts";

const FOLDER = new URL("../../tests/evidence/", import.meta.url);
const ENDING = ".json.zz";

/** As the file has it: the blocks are the server's. */
export interface RecordedResult extends Omit<ResultDocument, "blocks"> {
  steps: Fields[];
}

export const names: string[] = readdirSync(FOLDER)
  .filter((file) => file.endsWith(ENDING))
  .map((file) => file.slice(0, -ENDING.length));

export function recorded(name: string): RecordedResult {
  const packed = readFileSync(new URL(name + ENDING, FOLDER));
  return JSON.parse(inflateSync(packed).toString()) as RecordedResult;
}
