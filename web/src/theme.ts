// Light or dark: as the system has it until somebody chooses.

import { useEffect, useState } from "preact/hooks";

export type Choice = "system" | "light" | "dark";

const KEY = "fullpipe.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

export function choice(): Choice {
  const kept = document.documentElement.dataset["theme"];
  return kept === "light" || kept === "dark" ? kept : "system";
}

export function choose(theme: Choice): void {
  if (theme === "system") {
    delete document.documentElement.dataset["theme"];
    localStorage.removeItem(KEY);
  } else {
    document.documentElement.dataset["theme"] = theme;
    localStorage.setItem(KEY, theme);
  }
  dispatchEvent(new Event("theme"));
}

export function restore(): void {
  const kept = localStorage.getItem(KEY);
  if (kept === "light" || kept === "dark") {
    document.documentElement.dataset["theme"] = kept;
  }
}

/** What is shown now; who draws on a canvas draws again when it changes. */
export function useShade(): "light" | "dark" {
  const now = (): "light" | "dark" => {
    const chosen = choice();
    return chosen === "system" ? (dark.matches ? "dark" : "light") : chosen;
  };
  const [shade, setShade] = useState(now);
  useEffect(() => {
    const follow = (): void => setShade(now());
    addEventListener("theme", follow);
    dark.addEventListener("change", follow);
    return () => {
      removeEventListener("theme", follow);
      dark.removeEventListener("change", follow);
    };
  }, []);
  return shade;
}

/** The colour a name of the style sheet stands for now, as a canvas understands it. */
export function colour(name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const resolved = getComputedStyle(probe).color;
  probe.remove();
  return resolved;
}
