// The lab: networks drawn as a path, edited as text that is checked while one types, and tried.

import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { checkNetwork, networks } from "../api/client.ts";
import type { Network, Path } from "../api/types.ts";
import { useAsked } from "../asked.ts";
import { keep, kept } from "../order.ts";
import { PathPicture } from "../parts/path_picture.tsx";
import { YamlEditor } from "../parts/yaml_editor.tsx";
import { Empty, PageHead, Problem, Waiting } from "../parts/words.tsx";
import { located } from "../figures/located.ts";
import { go, href } from "../routes.ts";

const OWN = "own";

export function LabPage({ name }: { name: string | null }): JSX.Element {
  const known = useAsked("networks", networks);
  const chosen = name ?? known.value?.[0]?.name ?? null;
  const network = known.value?.find((one) => one.name === chosen);
  return (
    <>
      <PageHead
        title="Lab"
        lead="Networks that this machine emulates, without root. Change one, and test across it."
      />
      {known.error && <Problem text={known.error} />}
      {!known.value && !known.error && <Waiting what="the networks" />}
      {known.value && (
        <div class="lab">
          <NetworkList networks={known.value} chosen={chosen} />
          {chosen === OWN ? (
            <Workbench key={OWN} yaml={kept().yaml} network={null} />
          ) : network ? (
            <Workbench key={network.name} yaml={network.yaml} network={network} />
          ) : (
            <Empty title="There is no such network">
              <p>Choose one in the list.</p>
            </Empty>
          )}
        </div>
      )}
    </>
  );
}

function NetworkList({
  networks: known,
  chosen,
}: {
  networks: Network[];
  chosen: string | null;
}): JSX.Element {
  return (
    <nav class="run-list" aria-label="Networks">
      <ul>
        {known.map((network) => (
          <li key={network.name}>
            <a
              href={href(["lab", network.name])}
              aria-current={network.name === chosen ? "true" : undefined}
            >
              <b>{network.name}</b>
              <small>{network.description}</small>
            </a>
          </li>
        ))}
        {(kept().yaml !== "" || chosen === OWN) && (
          <li>
            <a href={href(["lab", OWN])} aria-current={chosen === OWN ? "true" : undefined}>
              <b>my own</b>
              <small>The network that was edited here last.</small>
            </a>
          </li>
        )}
      </ul>
    </nav>
  );
}

function Workbench({ yaml, network }: { yaml: string; network: Network | null }): JSX.Element {
  const [text, setText] = useState(yaml);
  const isChanged = network === null || text !== network.yaml;
  const checked = useAsked(isChanged ? text : null, (stop) => checkNetwork(text, stop), 250);
  const last = useRef<Path | null>(network?.path ?? null);
  const path = isChanged ? (checked.value?.path ?? last.current) : (network?.path ?? null);
  last.current = path;
  useEffect(() => {
    if (isChanged && text.trim() !== "") {
      keep({ ...kept(), yaml: text });
    }
  }, [text, isChanged]);
  const wrong = useMemo(
    () => (isChanged && checked.error ? located(checked.error) : null),
    [checked.error, isChanged],
  );
  const ready = !isChanged || (checked.value !== null && !checked.waiting);
  const tryIt = (where: "lab" | "sim"): void => {
    if (isChanged) {
      keep({ ...kept(), yaml: text });
    }
    const name = isChanged ? "" : (network?.name ?? "");
    go(["run"], new URLSearchParams({ where, network: name }));
  };
  return (
    <section class="stack workbench">
      <div class="panel">
        <div class="panel-head">
          <h2>{path?.name ?? "A network"}</h2>
          {isChanged && network && (
            <button type="button" class="quiet" onClick={() => setText(network.yaml)}>
              Undo all changes
            </button>
          )}
          <button type="button" disabled={!ready} onClick={() => tryIt("sim")}>
            Simulate across it
          </button>
          <button type="button" class="primary" disabled={!ready} onClick={() => tryIt("lab")}>
            Test across this network
          </button>
        </div>
        {path ? (
          <div class={wrong ? "stale" : ""}>
            <p class="about">{path.description}</p>
            <PathPicture path={path} />
          </div>
        ) : (
          <p class="hint">It is drawn as soon as the text describes a network.</p>
        )}
      </div>
      <div class="panel">
        <YamlEditor text={text} wrong={wrong} onText={setText} />
        <p class="state" role="status">
          {wrong
            ? ""
            : checked.waiting && isChanged
              ? "Checking …"
              : isChanged
                ? "A network of your own: valid."
                : "As built in. Change the text for a network of your own."}
        </p>
      </div>
    </section>
  );
}
