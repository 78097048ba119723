// The page's own source, for tests of what it does not know.

import { readFileSync, readdirSync } from "node:fs";

const FOLDER = new URL("../src/", import.meta.url);

/** Each file of TypeScript with its text. */
export function sources(folder = FOLDER): [file: string, text: string][] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry): [string, string][] => {
    if (entry.isDirectory()) {
      return sources(new URL(`${entry.name}/`, folder));
    }
    const file = new URL(entry.name, folder);
    return /\.tsx?$/.test(entry.name) ? [[file.pathname, readFileSync(file, "utf8")]] : [];
  });
}
