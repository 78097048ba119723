// Where in the page one is: the part of the address behind `#`.

import { useEffect, useState } from "preact/hooks";

export interface Route {
  /** `#/results/4f?x=1` is `["results", "4f"]`. */
  parts: string[];
  query: URLSearchParams;
}

export function parsed(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  return {
    parts: path.split("/").filter(Boolean).map(decodeURIComponent),
    query: new URLSearchParams(query),
  };
}

export function href(parts: readonly string[], query?: URLSearchParams): string {
  const text = query?.toString() ?? "";
  return `#/${parts.map(encodeURIComponent).join("/")}${text === "" ? "" : `?${text}`}`;
}

export function go(parts: readonly string[], query?: URLSearchParams): void {
  location.hash = href(parts, query);
}

/** Changes the address without a step in the browser's history. */
export function settle(parts: readonly string[], query?: URLSearchParams): void {
  if (location.hash !== href(parts, query)) {
    history.replaceState(null, "", href(parts, query));
    dispatchEvent(new HashChangeEvent("hashchange"));
  }
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => parsed(location.hash));
  useEffect(() => {
    const follow = (): void => setRoute(parsed(location.hash));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return route;
}
