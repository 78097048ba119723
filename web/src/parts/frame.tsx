// The frame of every page: skip link, name, navigation, the switch between light and dark.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { about } from "../api/client.ts";
import type { About } from "../api/types.ts";
import { useAsked } from "../asked.ts";
import { Known } from "../known.ts";
import { ComparePage } from "../pages/compare.tsx";
import { ExplorePage } from "../pages/explore.tsx";
import { LabPage } from "../pages/lab.tsx";
import { ResultPage } from "../pages/result.tsx";
import { ResultsPage } from "../pages/results.tsx";
import { RunPage } from "../pages/run.tsx";
import { WatchPage } from "../pages/watch.tsx";
import { type Route, href, useRoute } from "../routes.ts";
import { type Choice, choice, choose } from "../theme.ts";

const PLACES = [
  ["run", "Run"],
  ["watch", "Watch"],
  ["results", "Results"],
  ["explore", "Explore"],
  ["compare", "Compare"],
  ["lab", "Lab"],
] as const;

export function Frame(): JSX.Element {
  const route = useRoute();
  const here = route.parts[0] ?? "run";
  const main = useFocusOnArrival(route.parts.join("/"));
  const known = useAsked("about", about);
  useEffect(() => {
    const name = PLACES.find(([place]) => place === here)?.[1];
    document.title = name ? `${name} · fullpipe` : "fullpipe";
  }, [here]);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => skip(event, main.current)}>
        Skip to the page
      </a>
      <header class="top">
        <a class="name" href="#/run">
          <img src="/icon.svg" alt="" width="22" height="22" />
          fullpipe
        </a>
        <nav aria-label="Pages">
          {PLACES.map(([place, name]) => (
            <a key={place} href={href([place])} aria-current={place === here ? "page" : undefined}>
              {name}
            </a>
          ))}
        </nav>
        <ThemeSwitch />
      </header>
      <main id="main" ref={main} tabIndex={-1}>
        {known.error && (
          <p class="problem" role="alert">
            <b>No connection:</b> {known.error}
          </p>
        )}
        {(known.value || known.error) && (
          <Known.Provider value={known.value}>
            <Shown route={route} />
          </Known.Provider>
        )}
      </main>
      <Foot about={known.value} />
    </>
  );
}

function Shown({ route }: { route: Route }): ComponentChildren {
  const [here = "run", first, second] = route.parts;
  switch (here) {
    case "run":
      return <RunPage query={route.query} />;
    case "watch":
      return <WatchPage id={first ?? null} />;
    case "results":
      return first ? <ResultPage key={first} id={first} /> : <ResultsPage query={route.query} />;
    case "explore":
      return <ExplorePage key={first ?? ""} id={first ?? null} query={route.query} />;
    case "compare":
      return <ComparePage first={first ?? null} second={second ?? null} />;
    case "lab":
      return <LabPage name={first ?? null} />;
    default:
      return (
        <div class="empty">
          <h1 tabIndex={-1}>There is no such page</h1>
          <p>
            The address may be of another version. <a href="#/run">Plan a run</a> instead.
          </p>
        </div>
      );
  }
}

function Foot({ about: known }: { about: About | null }): JSX.Element {
  return (
    <footer class="foot">
      {known && (
        <>
          <span>
            fullpipe {known.version} on {known.host}
          </span>
          {!known.keeps_history && (
            <span>No history is kept: results are gone when fullpipe ends.</span>
          )}
        </>
      )}
      <a href="/api/v1/openapi.json">Interface for programs (OpenAPI)</a>
    </footer>
  );
}

const THEMES: readonly (readonly [Choice, string])[] = [
  ["system", "Theme: system"],
  ["light", "Theme: light"],
  ["dark", "Theme: dark"],
];

function ThemeSwitch(): JSX.Element {
  const [chosen, setChosen] = useState(choice);
  return (
    <label class="theme">
      <span class="unseen">Colours</span>
      <select
        value={chosen}
        onChange={(event) => {
          const theme = event.currentTarget.value as Choice;
          choose(theme);
          setChosen(theme);
        }}
      >
        {THEMES.map(([theme, name]) => (
          <option key={theme} value={theme}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Who comes by keyboard or listens stands at the head of the new page. */
function useFocusOnArrival(place: string): { current: HTMLElement | null } {
  const main = useRef<HTMLElement>(null);
  const before = useRef(place);
  useEffect(() => {
    if (before.current !== place) {
      before.current = place;
      scrollTo(0, 0);
      main.current?.focus({ preventScroll: true });
    }
  }, [place]);
  return main;
}

function skip(event: Event, main: HTMLElement | null): void {
  event.preventDefault();
  main?.focus();
}
