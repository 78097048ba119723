// A button that puts text on the clipboard and says that it did.

import type { JSX } from "preact";
import { useState } from "preact/hooks";

export function CopyButton({ text, what }: { text: string; what: string }): JSX.Element {
  const [said, setSaid] = useState("Copy");
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setSaid("Copied");
    } catch {
      setSaid("Not allowed");
    }
    setTimeout(() => setSaid("Copy"), 1500);
  };
  return (
    <button type="button" class="quiet" aria-label={`${said} ${what}`} onClick={() => void copy()}>
      {said}
    </button>
  );
}
