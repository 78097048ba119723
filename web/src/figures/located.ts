// Where in a text something is wrong, out of the server's `12:7: sentence`.

export interface Located {
  line: number | null;
  column: number;
  sentence: string;
}

export function located(error: string): Located {
  const found = /^(?:[^:\s]*:)?(\d+):(\d+):\s*([\s\S]*)$/.exec(error);
  return found
    ? { line: Number(found[1]), column: Number(found[2]), sentence: found[3] ?? "" }
    : { line: null, column: 1, sentence: error };
}

/** The place in a text of a line and a column, both counted from one. */
export function offsetOf(text: string, line: number, column: number): number {
  const lines = text.split("\n");
  const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  return Math.min(text.length, before + Math.min(column - 1, lines[line - 1]?.length ?? 0));
}
