// One result: the verdict and why, what was found, and the tester's self-checks.

import type { JSX } from "preact";
import { result, resultFile } from "../api/client.ts";
import { LABELS, type Check, type ResultDocument } from "../api/types.ts";
import { useAsked } from "../asked.ts";
import { fieldName, fieldValue, flattened, numberOf, wordOf } from "../fields.ts";
import { bandsOf } from "../figures/bands.ts";
import { useTitle } from "../known.ts";
import { Blocks } from "../parts/blocks.tsx";
import { Facts, Table } from "../parts/table.tsx";
import { Band, PageHead, Problem, VerdictBanner, Waiting } from "../parts/words.tsx";
import { UNKNOWN, duration, inUnit, moment, took } from "../quantity.ts";
import { href } from "../routes.ts";

export function ResultPage({ id }: { id: string }): JSX.Element {
  const asked = useAsked(id, (stop) => result(id, stop));
  if (!asked.value) {
    return (
      <>
        <PageHead title="Result" />
        {asked.error ? <Problem text={asked.error} /> : <Waiting what="the result" />}
      </>
    );
  }
  return <Shown found={asked.value} />;
}

function Shown({ found }: { found: ResultDocument }): JSX.Element {
  const title = useTitle(found.method);
  return (
    <>
      <PageHead title={title} lead={`across ${found.across}, ${moment(found.started)}`}>
        <a class="button primary" href={href(["explore", found.id])}>
          Explore its counters
        </a>
      </PageHead>
      {bandsOf(found).map((band) => (
        <Band key={band.word} {...band} />
      ))}
      <VerdictBanner verdict={found.verdict.status} sentence={found.sentence}>
        {found.reasons.length > 0 && (
          <ul class="reasons">
            {found.reasons.map((reason) => (
              <li key={reason}>{reason}</li>
            ))}
          </ul>
        )}
        {found.judged_again && (
          <p class="hint">Judged again from the evidence: not the verdict given after the run.</p>
        )}
      </VerdictBanner>
      <Downloads id={found.id} />
      <section class="panel">
        <h2>What and where</h2>
        <Facts facts={factsOf(found)} />
      </section>
      <Blocks blocks={found.blocks} />
      <SelfChecks found={found} />
      <details class="panel">
        <summary>What was asked, after defaults</summary>
        <Facts facts={flattened(found.plan)} />
      </details>
    </>
  );
}

function Downloads({ id }: { id: string }): JSX.Element {
  const file = (name: string, word: string, kept: string): JSX.Element => (
    <a class="button" href={resultFile(id, name)} download={kept}>
      {word}
    </a>
  );
  return (
    <nav class="links" aria-label="Documents of this result">
      <a class="button" href={resultFile(id, "certificate.html")} target="_blank" rel="noopener">
        Certificate
      </a>
      {file("certificate.pdf", "PDF, A4", `fullpipe-${id}.pdf`)}
      {file("certificate.pdf?paper=letter", "PDF, Letter", `fullpipe-${id}-letter.pdf`)}
      {file("series.csv", "CSV", `fullpipe-${id}.csv`)}
      {file("result.json", "JSON", `fullpipe-${id}.json`)}
      {file("certificate.md", "Markdown", `fullpipe-${id}.md`)}
      {file("junit.xml", "JUnit", `fullpipe-${id}.xml`)}
    </nav>
  );
}

function factsOf(found: ResultDocument): [string, string][] {
  const labels = LABELS.flatMap((label): [string, string][] => {
    const text = found.labels?.[label];
    return text ? [[label, text]] : [];
  });
  const lasted = found.duration_s === null ? UNKNOWN : took(found.duration_s);
  return [
    ...labels,
    ["near end", end(found.near)],
    ["far end", end(found.far)],
    ...clocks(found.clocks),
    ["began", moment(found.started)],
    ["took", lasted],
    ["fullpipe", wordOf(found.tool, "version")],
    ["id", found.id],
  ];
}

function clocks(fields: ResultDocument["clocks"]): [string, string][] {
  const error_us = fields && numberOf(fields, "error_us");
  return typeof error_us === "number"
    ? [["clocks", `known to each other to ${duration(error_us / 1e6)}`]]
    : [];
}

function end(fields: ResultDocument["far"]): string {
  if (!fields) {
    return UNKNOWN;
  }
  const name = wordOf(fields, "name") || wordOf(fields, "host");
  const kernel = wordOf(fields, "kernel");
  const processors = fields["processors"];
  return [
    name || UNKNOWN,
    ...(kernel ? [kernel] : []),
    ...(typeof processors === "number" ? [`${processors} processors`] : []),
  ].join(", ");
}

function SelfChecks({ found }: { found: ResultDocument }): JSX.Element {
  const { validity, deviations = [] } = found;
  return (
    <section class="panel">
      <h2>Self-checks</h2>
      <p>
        {validity.ok && validity.checks.length === 0
          ? "The tester has no self-check for such a run."
          : validity.ok
            ? "Every self-check of the tester holds."
            : "A self-check of the tester failed: this run says nothing about the path."}
      </p>
      {validity.checks.length > 0 && (
        <Table
          caption="Self-checks of the tester"
          hideCaption
          columns={[
            { head: "check" },
            { head: "outcome" },
            { head: "found", figure: true },
            { head: "limit", figure: true },
          ]}
          rows={validity.checks.map((check) => [
            fieldName(check.name),
            check.ok ? "holds" : "BROKEN",
            checked(check.value, check),
            checked(check.limit, check),
          ])}
        />
      )}
      {deviations.length > 0 && (
        <>
          <h3>Where it departs from the standard</h3>
          <ul class="deviations">
            {deviations.map((deviation) => (
              <li key={deviation}>{deviation}</li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

function checked(value: number | null, check: Check): string {
  return check.unit === "" ? fieldValue("", value) : inUnit(value, check.unit);
}
