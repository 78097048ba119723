// Plan a run: which path, which method, with which options; checked while it is filled in.

import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { checkOrder, methods, networks, startRun } from "../api/client.ts";
import {
  LABELS,
  type Checked,
  type Form,
  type MethodOption,
  type Network,
  type Order,
} from "../api/types.ts";
import { type Asked, sentenceOf, useAsked } from "../asked.ts";
import { type Draft, isGiven, keep, kept, orderOf, sorted, speaksOf } from "../order.ts";
import { Chart } from "../parts/chart.tsx";
import { CopyButton } from "../parts/copy_button.tsx";
import { OptionField } from "../parts/option_field.tsx";
import { PathPicture } from "../parts/path_picture.tsx";
import { SearchField } from "../parts/search_field.tsx";
import { Choice, Field, PageHead, Problem, Waiting } from "../parts/words.tsx";
import { amount, counted, span } from "../quantity.ts";
import { go } from "../routes.ts";
import { type Values, merged } from "../series.ts";

type Change = (change: Partial<Draft>) => void;

export function RunPage({ query }: { query: URLSearchParams }): JSX.Element {
  const forms = useAsked("methods", methods);
  const known = useAsked("networks", networks);
  const [draft, setDraft] = useState(() => asAsked(kept(), query));
  const change: Change = (part) => setDraft((before) => ({ ...before, ...part }));
  useEffect(() => keep(draft), [draft]);
  const form = forms.value?.find((one) => one.name === draft.method) ?? forms.value?.[0] ?? null;
  return (
    <>
      <PageHead
        title="Run"
        lead="Choose a path and a method; what the run takes is shown before it starts."
      />
      {(forms.error ?? known.error) && <Problem text={forms.error ?? known.error ?? ""} />}
      {form && known.value ? (
        <div class="split">
          <form class="stack" onSubmit={(event) => event.preventDefault()}>
            <TargetPart draft={draft} change={change} networks={known.value} />
            <MethodPart draft={draft} change={change} forms={forms.value ?? []} form={form} />
            <OptionsPart key={form.name} draft={draft} change={change} form={form} />
            <LabelsPart draft={draft} change={change} />
          </form>
          <OrderPart draft={draft} form={form} />
        </div>
      ) : (
        !forms.error && <Waiting what="methods and networks" />
      )}
    </>
  );
}

/** A network may have been chosen on another page. */
function asAsked(draft: Draft, query: URLSearchParams): Draft {
  const where = query.get("where");
  const network = query.get("network");
  const method = query.get("method");
  return {
    ...draft,
    ...(where === "lab" || where === "sim" ? { where } : {}),
    ...(network === null ? {} : { network }),
    ...(method === null ? {} : { method }),
  };
}

interface PartProps {
  draft: Draft;
  change: Change;
}

function TargetPart({
  draft,
  change,
  networks: known,
}: PartProps & { networks: Network[] }): JSX.Element {
  const chosen = known.find((network) => network.name === draft.network);
  return (
    <section class="panel">
      <h2>Path</h2>
      <Choice
        legend="Target"
        name="where"
        value={draft.where}
        choices={[
          ["lab", "Lab network"],
          ["sim", "Simulation"],
          ["far", "Far end"],
        ]}
        onChoose={(where) => change({ where })}
      />
      {draft.where === "far" ? (
        <FarEnd draft={draft} change={change} />
      ) : (
        <>
          <Field
            id="network"
            label="Network"
            hint={
              draft.where === "lab"
                ? "Real packets across an emulated network on this machine."
                : "The same method in virtual time: over in seconds, nothing is sent."
            }
          >
            <select
              id="network"
              aria-describedby="network-hint"
              value={draft.network}
              onChange={(event) => change({ network: event.currentTarget.value })}
            >
              {known.map((network) => (
                <option key={network.name} value={network.name}>
                  {network.name}
                </option>
              ))}
              {draft.yaml !== "" && <option value="">my own (from the lab page)</option>}
            </select>
          </Field>
          {chosen && (
            <>
              <p class="hint">{chosen.description}</p>
              <PathPicture path={chosen.path} />
            </>
          )}
        </>
      )}
    </section>
  );
}

function FarEnd({ draft, change }: PartProps): JSX.Element {
  return (
    <div class="fields">
      <Field id="address" label="Far end" hint="What `fullpipe serve` printed there, or host:port.">
        <input
          id="address"
          aria-describedby="address-hint"
          autocomplete="off"
          spellcheck={false}
          placeholder="far.example:6349"
          value={draft.address}
          onInput={(event) => change({ address: event.currentTarget.value })}
        />
      </Field>
      <Field
        id="key"
        label="Secret"
        hint="Not needed where the far end's string holds it; never kept."
      >
        <input
          id="key"
          type="password"
          aria-describedby="key-hint"
          autocomplete="off"
          value={draft.key}
          onInput={(event) => change({ key: event.currentTarget.value })}
        />
      </Field>
    </div>
  );
}

function MethodPart({
  draft,
  change,
  forms,
  form,
}: PartProps & { forms: Form[]; form: Form }): JSX.Element {
  return (
    <section class="panel">
      <h2>Method</h2>
      <fieldset class="methods">
        <legend class="unseen">Method</legend>
        {forms.map((one) => {
          const cannot = draft.where === "sim" && !one.can_simulate;
          return (
            <label key={one.name} class={cannot ? "cannot" : ""}>
              <input
                type="radio"
                name="method"
                value={one.name}
                checked={one.name === form.name}
                disabled={cannot}
                onChange={() => change({ method: one.name })}
              />
              <span>
                <b>{one.name}</b>
                {one.title}
                {cannot && <small>not simulated</small>}
              </span>
            </label>
          );
        })}
      </fieldset>
      {form.about !== "" && <p class="about">{form.about}</p>}
    </section>
  );
}

function OptionsPart({ draft, change, form }: PartProps & { form: Form }): JSX.Element {
  const [wanted, setWanted] = useState("");
  const { first, groups } = useMemo(() => sorted(form), [form]);
  const values = draft.values[form.name] ?? {};
  const count = Object.values(values).filter(isGiven).length;
  const set = (option: MethodOption, given: string[]): void =>
    change({ values: { ...draft.values, [form.name]: { ...values, [option.name]: given } } });
  const fields = (options: MethodOption[]): JSX.Element => (
    <div class="fields">
      {options.map((option) => (
        <OptionField
          key={option.name}
          option={option}
          given={values[option.name] ?? []}
          onGive={(given) => set(option, given)}
        />
      ))}
    </div>
  );
  const all = [...first, ...groups.flatMap((group) => group.options)];
  const found = all.filter((option) => speaksOf(option, wanted));
  return (
    <section class="panel">
      <div class="panel-head">
        <h2>Options</h2>
        <SearchField
          things="options"
          count={all.length}
          wanted={wanted}
          onWanted={setWanted}
          chosen={count}
          onClear={() => change({ values: { ...draft.values, [form.name]: {} } })}
        />
      </div>
      {wanted.trim() !== "" ? (
        found.length > 0 ? (
          fields(found)
        ) : (
          <p class="hint">No option of this method speaks of “{wanted}”.</p>
        )
      ) : (
        <>
          {fields(first)}
          {groups.map((group) => (
            <details key={group.heading}>
              <summary>
                {group.heading} <Count options={group.options} values={values} />
              </summary>
              {fields(group.options)}
            </details>
          ))}
        </>
      )}
    </section>
  );
}

interface CountProps {
  options: MethodOption[];
  values: Record<string, string[]>;
}

function Count({ options, values }: CountProps): JSX.Element {
  const given = options.filter((option) => isGiven(values[option.name])).length;
  return (
    <small>
      {counted(options.length, "option")}
      {given > 0 && `, ${given} set`}
    </small>
  );
}

const LABEL_HINTS: Readonly<Record<(typeof LABELS)[number], string>> = {
  site: "Where it is measured",
  circuit: "The circuit or service",
  technician: "Who measures",
  order: "The work order",
  label: "Anything else to find it by",
};

function LabelsPart({ draft, change }: PartProps): JSX.Element {
  return (
    <section class="panel">
      <h2>Labels</h2>
      <p class="hint">They stand on the certificate, and results are found by them.</p>
      <div class="fields">
        {LABELS.map((name) => (
          <Field key={name} id={`label-${name}`} label={name} hint={LABEL_HINTS[name]}>
            <input
              id={`label-${name}`}
              aria-describedby={`label-${name}-hint`}
              value={draft.labels[name] ?? ""}
              onInput={(event) =>
                change({ labels: { ...draft.labels, [name]: event.currentTarget.value } })
              }
            />
          </Field>
        ))}
      </div>
    </section>
  );
}

function OrderPart({ draft, form }: { draft: Draft; form: Form }): JSX.Element {
  const order = useMemo(() => orderOf(draft, form), [draft, form]);
  const key = order && JSON.stringify(order);
  const checked = useAsked(key, (stop) => checkOrder(order as Order, stop), 250);
  const [refused, setRefused] = useState<string | null>(null);
  const [starting, setStarting] = useState(false);
  useEffect(() => setRefused(null), [key]);
  const ready = order !== null && checked.value !== null && !checked.waiting && !starting;
  const start = async (): Promise<void> => {
    if (!order) {
      return;
    }
    setStarting(true);
    try {
      go(["watch", (await startRun(order)).id]);
    } catch (failure) {
      setRefused(sentenceOf(failure));
      setStarting(false);
    }
  };
  return (
    <aside class="panel order" aria-label="Command">
      <h2>Command</h2>
      {order ? (
        <CheckedOrder checked={checked} isSimulated={draft.where === "sim"} />
      ) : (
        <p class="hint">{missing(draft, form)}</p>
      )}
      {refused && <Problem text={refused} />}
      <button type="button" class="primary" disabled={!ready} onClick={() => void start()}>
        {starting ? "Starting …" : "Start the run"}
      </button>
    </aside>
  );
}

function missing(draft: Draft, form: Form): string {
  if (draft.where === "far" && draft.address.trim() === "") {
    return "Name the far end to go on.";
  }
  const given = draft.values[form.name] ?? {};
  const options = form.groups.flatMap((group) => group.options);
  const lacking = options.filter((option) => option.required && !isGiven(given[option.name]));
  return `Still needed: ${lacking.map((option) => option.name).join(", ")}.`;
}

interface CheckedProps {
  checked: Asked<Checked>;
  isSimulated: boolean;
}

function CheckedOrder({ checked, isSimulated }: CheckedProps): JSX.Element {
  const last = useRef<Checked | null>(null);
  last.current = checked.value ?? last.current;
  if (checked.error) {
    return (
      <p class="problem" role="alert">
        <b>Cannot run like this:</b> {checked.error}
      </p>
    );
  }
  const value = last.current;
  if (!value) {
    return <Waiting what="the command" />;
  }
  return (
    <div class={checked.waiting ? "stack stale" : "stack"}>
      <div class="command">
        <code>{value.command}</code>
        <CopyButton text={value.command} what="the command" />
      </div>
      {isSimulated ? (
        <p class="hint">Simulated: over in seconds, and nothing is sent.</p>
      ) : (
        <dl class="costs">
          <div>
            <dt>takes at least</dt>
            <dd>{value.at_least_s === null ? "not known" : span(value.at_least_s)}</dd>
          </div>
          <div>
            <dt>sends at most</dt>
            <dd>{value.at_most_bytes === null ? "not known" : amount(value.at_most_bytes)}</dd>
          </div>
        </dl>
      )}
      {value.load && value.load.length > 0 && <LoadPreview load={value.load} />}
    </div>
  );
}

const LOAD_INKS = ["download", "upload", "third", "fourth", "fifth", "sixth"];

function LoadPreview({ load }: { load: NonNullable<Checked["load"]> }): JSX.Element {
  const { t_s, curves } = useMemo(() => {
    const courses = load.map((curve) => ({
      t_s: curve.points.map(([t]) => t),
      values: curve.points.map(([, bps]) => bps) as Values,
    }));
    const sheet = merged(courses);
    return {
      t_s: sheet.t_s,
      curves: load.map((curve, place) => ({
        name: curve.flow,
        ink: LOAD_INKS[place % LOAD_INKS.length] ?? "upload",
        dash: place < LOAD_INKS.length ? [] : [6, 3],
        values: sheet.curves[place] ?? [],
      })),
    };
  }, [load]);
  return (
    <Chart
      title="Load to be offered"
      unit="bit/s"
      t_s={t_s}
      curves={curves}
      sync="load"
      height={150}
    />
  );
}
