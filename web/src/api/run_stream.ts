// The live stream of a run: events are gathered and handed on twenty times a second at most.

import { runEvents } from "./client.ts";
import type { RunEvent, RunHead, RunView, Sample, Trial, TrialEnd } from "./types.ts";

const HAND_ON_MS = 50;

export type Connection = "connecting" | "live" | "lost" | "over";

interface Listener {
  onEvents: (events: RunEvent[]) => void;
  onConnection: (connection: Connection) => void;
}

/** Listens until the run has ended or the returned function is called. */
export function listen(id: string, listener: Listener): () => void {
  const source = new EventSource(runEvents(id));
  let waiting: RunEvent[] = [];
  const handOn = (): void => {
    if (waiting.length > 0) {
      const events = waiting;
      waiting = [];
      listener.onEvents(events);
    }
  };
  const timer = setInterval(handOn, HAND_ON_MS);
  const end = (): void => {
    clearInterval(timer);
    source.close();
  };
  const on = (name: string, read: (text: string) => RunEvent): void => {
    source.addEventListener(name, (event: MessageEvent<string>) => {
      waiting.push(read(event.data));
      const last = waiting.at(-1);
      if (last?.kind === "ended" || (last?.kind === "view" && last.view.head.state === "ended")) {
        end();
        handOn();
        listener.onConnection("over");
      }
    });
  };
  source.onopen = () => listener.onConnection("live");
  source.onerror = () => listener.onConnection("lost");
  on("view", (text) => ({ kind: "view", view: JSON.parse(text) as RunView }));
  on("trial_started", (text) => ({
    kind: "trial_started",
    ...(JSON.parse(text) as { index: number; trial: Trial }),
  }));
  on("sample", (text) => ({ kind: "sample", sample: JSON.parse(text) as Sample }));
  on("trial_finished", (text) => ({
    kind: "trial_finished",
    ...(JSON.parse(text) as TrialEnd),
  }));
  on("line", (text) => ({ kind: "line", ...(JSON.parse(text) as { text: string }) }));
  on("ended", (text) => ({ kind: "ended", head: JSON.parse(text) as RunHead }));
  return end;
}
