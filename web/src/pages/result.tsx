// One result: the verdict and why, what was found, and the tester's self-checks.

import type { JSX } from "preact";
import { result, resultFile } from "../api/client.ts";
import type { ResultDocument } from "../api/types.ts";
import { useAsked } from "../asked.ts";
import { bandsOf } from "../figures/bands.ts";
import { useTitle } from "../known.ts";
import { Blocks } from "../parts/blocks.tsx";
import { Facts } from "../parts/table.tsx";
import { Band, PageHead, Problem, VerdictBanner, Waiting } from "../parts/words.tsx";
import { moment } from "../quantity.ts";
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
        <Facts facts={found.facts} />
      </section>
      <Blocks blocks={found.blocks} />
      <details class="panel">
        <summary>What was asked</summary>
        <Facts facts={found.asked} />
      </details>
      <Blocks blocks={found.how} />
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
