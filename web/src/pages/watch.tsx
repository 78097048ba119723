// Watch runs: those under way and those that have ended since fullpipe was started.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { runs } from "../api/client.ts";
import type { RunHead } from "../api/types.ts";
import { sentenceOf } from "../asked.ts";
import { LiveRun } from "../parts/live_run.tsx";
import { Empty, PageHead, Problem, VerdictMark, Waiting } from "../parts/words.tsx";
import { moment } from "../quantity.ts";
import { href } from "../routes.ts";

const ASK_AGAIN_MS = 2000;

export function WatchPage({ id }: { id: string | null }): JSX.Element {
  const { heads, error, again } = useRuns();
  const shown = id ?? heads?.[0]?.id ?? null;
  return (
    <>
      <PageHead
        title="Watch"
        lead={
          "Runs since this interface was started. A run goes on when this page is closed or read " +
          "elsewhere."
        }
      />
      {error && <Problem text={error} />}
      {heads?.length === 0 && !id && (
        <Empty title="Nothing has run yet">
          <p>Runs appear here as soon as they start, with their curves while they are measured.</p>
          <a class="button" href="#/run">
            Plan a run
          </a>
        </Empty>
      )}
      {!heads && !error && <Waiting what="runs" />}
      {shown && (
        <div class="watch">
          <RunList heads={heads ?? []} shown={shown} />
          <LiveRun key={shown} id={shown} onEnd={again} />
        </div>
      )}
    </>
  );
}

interface Known {
  heads: RunHead[] | null;
  error: string | null;
  /** Asks before it is time. */
  again: () => void;
}

function useRuns(): Known {
  const [heads, setHeads] = useState<RunHead[] | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    const ask = async (): Promise<void> => {
      try {
        setHeads(await runs(stop.signal));
        setError(null);
      } catch (failure) {
        if (!stop.signal.aborted) {
          setError(sentenceOf(failure));
        }
      }
    };
    void ask();
    const timer = setInterval(() => void ask(), ASK_AGAIN_MS);
    return () => {
      clearInterval(timer);
      stop.abort();
    };
  }, [turn]);
  return { heads, error, again: () => setTurn((before) => before + 1) };
}

function RunList({ heads, shown }: { heads: RunHead[]; shown: string }): JSX.Element {
  return (
    <nav class="run-list" aria-label="Runs">
      <ul>
        {heads.map((head) => (
          <li key={head.id}>
            <a
              href={href(["watch", head.id])}
              aria-current={head.id === shown ? "true" : undefined}
            >
              <span class="run-list-head">
                <b>{head.method}</b>
                <StateMark head={head} />
              </span>
              <span>{head.across}</span>
              <small>{moment(head.started)}</small>
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

export function StateMark({ head }: { head: RunHead }): JSX.Element {
  if (head.state === "ended") {
    return head.verdict ? (
      <VerdictMark verdict={head.verdict} />
    ) : (
      <span class="mark tone-bad">ENDED</span>
    );
  }
  return (
    <span class="mark tone-live">
      <span class="pulse" aria-hidden="true" />
      {head.state === "running" ? "RUNNING" : "STOPPING"}
    </span>
  );
}
