// One run, live: where it is, its curves, its trials so far, and its end.

import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { resultFile, stopRun } from "../api/client.ts";
import { type Connection, listen } from "../api/run_stream.ts";
import type { RunHead, RunView, Trial } from "../api/types.ts";
import { sentenceOf } from "../asked.ts";
import { latest, livePanels } from "../figures/live.ts";
import { UNKNOWN, counted, duration, grouped, moment, rate, span } from "../quantity.ts";
import { href } from "../routes.ts";
import { advanced } from "../run_view.ts";
import { reached } from "../series.ts";
import { Chart } from "./chart.tsx";
import { TrialList } from "./trial_list.tsx";
import { Problem, VerdictBanner, Waiting } from "./words.tsx";

export function LiveRun({ id, onEnd }: { id: string; onEnd: () => void }): JSX.Element {
  const [view, setView] = useState<RunView | null>(null);
  const [connection, setConnection] = useState<Connection>("connecting");
  const told = useRef(performance.now());
  useEffect(
    () =>
      listen(id, {
        onEvents: (events) => {
          if (events.some((event) => event.kind === "view")) {
            told.current = performance.now();
          }
          setView((before) => advanced(before, events));
        },
        onConnection: (now) => {
          setConnection(now);
          if (now === "over") {
            onEnd();
          }
        },
      }),
    [id],
  );
  if (!view) {
    return (
      <section class="live">
        {connection === "lost" ? (
          <Problem text={`there is no run ${id} here, or fullpipe does not answer`} />
        ) : (
          <Waiting what="the run" />
        )}
      </section>
    );
  }
  return (
    <section class="live" aria-label={`Run ${id}`} data-state={view.head.state}>
      {connection === "lost" && (
        <p class="problem" role="status">
          <b>Connection lost:</b> trying again; the run itself goes on.
        </p>
      )}
      <Head head={view.head} elapsed_s={view.elapsed_s} told_ms={told.current} />
      {view.head.state === "ended" ? <End head={view.head} /> : <Present view={view} />}
      <Curves view={view} />
      <TrialList trials={view.trials} ended={view.head.state === "ended"} />
      {view.lines.length > 0 && (
        <details class="panel said">
          <summary>
            What fullpipe said <small>{counted(view.lines.length, "line")}</small>
          </summary>
          <pre tabIndex={0}>{view.lines.join("\n")}</pre>
        </details>
      )}
    </section>
  );
}

interface HeadProps {
  head: RunHead;
  elapsed_s: number;
  told_ms: number;
}

function Head({ head, elapsed_s, told_ms }: HeadProps): JSX.Element {
  const runs = head.state !== "ended";
  const now = useClock(runs);
  const [refused, setRefused] = useState<string | null>(null);
  const stop = (): void => {
    stopRun(head.id).catch((failure: unknown) => setRefused(sentenceOf(failure)));
  };
  const gone_s = runs ? elapsed_s + Math.max(0, now - told_ms) / 1e3 : elapsed_s;
  return (
    <header class="live-head">
      <div>
        <h2>
          {head.method} <span>across {head.across}</span>
        </h2>
        <p class="hint">
          {moment(head.started)}
          {runs && (
            <>
              {" · "}
              <span class="clock">{span(gone_s)}</span> so far
            </>
          )}
        </p>
        <code class="command-line">{head.command}</code>
      </div>
      {runs && (
        <button type="button" class="danger" disabled={head.state === "stopping"} onClick={stop}>
          {head.state === "stopping" ? "Stopping …" : "Stop"}
        </button>
      )}
      {refused && <Problem text={refused} />}
    </header>
  );
}

function useClock(runs: boolean): number {
  const [now, setNow] = useState(() => performance.now());
  useEffect(() => {
    if (!runs) {
      return;
    }
    const timer = setInterval(() => setNow(performance.now()), 100);
    return () => clearInterval(timer);
  }, [runs]);
  return now;
}

function End({ head }: { head: RunHead }): JSX.Element {
  const links = head.result_id && <ResultLinks id={head.result_id} />;
  if (!head.verdict) {
    return (
      <div class="stack">
        <Problem text={head.error ?? `the run ended with exit code ${head.exit_code ?? UNKNOWN}`} />
        {links}
      </div>
    );
  }
  return (
    <VerdictBanner verdict={head.verdict}>
      {head.error && <p>{head.error}</p>}
      {links ?? <p class="hint">This run was not kept in the history.</p>}
    </VerdictBanner>
  );
}

function ResultLinks({ id }: { id: string }): JSX.Element {
  return (
    <p class="links">
      <a class="button primary" href={href(["results", id])}>
        Open the result
      </a>
      <a class="button" href={resultFile(id, "certificate.html")} target="_blank" rel="noopener">
        Certificate
      </a>
      <a class="button" href={resultFile(id, "certificate.pdf")} download={`fullpipe-${id}.pdf`}>
        PDF
      </a>
      <a class="button" href={href(["explore", id])}>
        Explore
      </a>
    </p>
  );
}

function Present({ view }: { view: RunView }): JSX.Element {
  const place = view.trials.findLastIndex((trial) => !trial.finished);
  const trial = view.trials[place];
  if (!trial) {
    return (
      <div class="panel present">
        <p role="status">Between two trials.</p>
      </div>
    );
  }
  return (
    <div class="panel present">
      <div class="present-head">
        <p role="status">
          <small>Trial {place + 1}</small> <b>{trial.name}</b>
        </p>
        <Progress trial={trial} />
      </div>
      <div class="gauges">
        {latest(trial).map((now) => (
          <dl key={now.direction} class={`gauge tone-${now.direction}`}>
            <dt class="gauge-name">
              {now.direction}
              {now.layers.length > 0 && (
                <small> {now.layers.map((layer) => `l${layer}`).join(", ")}</small>
              )}
            </dt>
            <Gauge
              name="received"
              value={now.received_bps === null ? null : rate(now.received_bps)}
            />
            <Gauge name="sent" value={now.sent_bps === null ? null : rate(now.sent_bps)} />
            <Gauge
              name="retransmitted"
              value={now.retransmitted_bps === null ? null : rate(now.retransmitted_bps)}
            />
            <Gauge name="RTT" value={now.rtt_ms === null ? null : duration(now.rtt_ms / 1e3)} />
            {now.active_connections !== null && (
              <Gauge name="connections" value={grouped(now.active_connections)} />
            )}
          </dl>
        ))}
      </div>
    </div>
  );
}

function Gauge({ name, value }: { name: string; value: string | null }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value ?? UNKNOWN}</dd>
    </div>
  );
}

/** By its slots where it has some, else by the clock. */
function Progress({ trial }: { trial: Trial }): JSX.Element {
  const began = useMemo(() => performance.now(), [trial.name, trial.started_s]);
  const now = useClock(true);
  const gone_s = Math.max(reached(trial), (now - began) / 1e3);
  const share = trial.lasts_s > 0 ? Math.min(1, gone_s / trial.lasts_s) : 0;
  return (
    <label class="progress">
      <progress max={1} value={share} />
      <span>
        {span(Math.min(gone_s, trial.lasts_s))} of {span(trial.lasts_s)}
      </span>
    </label>
  );
}

const HEIGHTS = [210, 110, 130, 100];

function Curves({ view }: { view: RunView }): JSX.Element {
  const panels = useMemo(() => livePanels(view), [view.trials]);
  if (panels.length === 0) {
    return (
      <div class="panel">
        <p class="hint">
          {view.head.state === "ended"
            ? "This run had no trial whose course is recorded."
            : "Curves appear with the first trial that sends more than probes."}
        </p>
      </div>
    );
  }
  return (
    <div class="panel curves">
      {panels.map((panel, place) => (
        <Chart
          key={place}
          title={panel.title}
          unit={panel.unit}
          t_s={panel.t_s}
          curves={panel.curves}
          sync={`run-${view.head.id}`}
          height={HEIGHTS[place] ?? 120}
        />
      ))}
      <p class="hint">Time since the run began. Broken lines: sent; whole lines: received.</p>
    </div>
  );
}
