// Asks the server, and says in a sentence what went wrong where it refuses.

import type {
  About,
  Checked,
  Comparison,
  Counter,
  CounterCourse,
  Form,
  Network,
  Order,
  Path,
  ResultDocument,
  ResultPage,
  RunHead,
} from "./types.ts";

const ROOT = "/api/v1";

/** What the server answered in place of what was asked for. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

export const about = (stop?: AbortSignal): Promise<About> => get("/about", stop);
export const methods = (stop?: AbortSignal): Promise<Form[]> => get("/methods", stop);
export const networks = (stop?: AbortSignal): Promise<Network[]> => get("/networks", stop);

export const checkNetwork = (yaml: string, stop?: AbortSignal): Promise<{ path: Path }> =>
  tell("POST", "/networks/check", { yaml }, stop);
export const checkOrder = (order: Order, stop?: AbortSignal): Promise<Checked> =>
  tell("POST", "/runs/check", order, stop);
export const startRun = (order: Order): Promise<{ id: string }> => tell("POST", "/runs", order);
export const stopRun = (id: string): Promise<unknown> => tell("DELETE", `/runs/${path(id)}`);
export const runs = (stop?: AbortSignal): Promise<RunHead[]> => get("/runs", stop);
export const runEvents = (id: string): string => `${ROOT}/runs/${path(id)}/events`;

export const results = (query: URLSearchParams, stop?: AbortSignal): Promise<ResultPage> =>
  get(`/results?${query}`, stop);
export const result = (id: string, stop?: AbortSignal): Promise<ResultDocument> =>
  get(`/results/${path(id)}?series=0&blocks=1`, stop);
export const resultFile = (id: string, file: string): string =>
  `${ROOT}/results/${path(id)}/${file}`;
export const counters = (id: string, stop?: AbortSignal): Promise<Counter[]> =>
  get(`/results/${path(id)}/counters`, stop);

export function counterCourse(
  result: string,
  counter: string,
  span: readonly [number, number] | null,
  stop?: AbortSignal,
): Promise<CounterCourse> {
  const query = new URLSearchParams({ points: "1000" });
  if (span) {
    query.set("from", String(span[0]));
    query.set("until", String(span[1]));
  }
  const place = counter.split("/").map(path).join("/");
  return get(`/results/${path(result)}/counters/${place}?${query}`, stop);
}

export const compare = (first: string, second: string, stop?: AbortSignal): Promise<Comparison> =>
  get(`/compare?${new URLSearchParams({ first, second })}`, stop);
export const comparePage = (first: string, second: string): string =>
  `${ROOT}/compare.html?${new URLSearchParams({ first, second })}`;

function path(part: string): string {
  return encodeURIComponent(part);
}

function get<T>(place: string, stop?: AbortSignal): Promise<T> {
  return answered(place, { signal: stop ?? null });
}

function tell<T>(method: string, place: string, body?: unknown, stop?: AbortSignal): Promise<T> {
  const headers: Record<string, string> = { "X-Fullpipe": "1" };
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
  }
  const text = body === undefined ? null : JSON.stringify(body);
  return answered(place, { method, headers, body: text, signal: stop ?? null });
}

async function answered<T>(place: string, request: RequestInit): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(ROOT + place, request);
  } catch (failure) {
    if (request.signal?.aborted) {
      throw failure;
    }
    throw new Refusal(0, "fullpipe does not answer: is `fullpipe ui` still running?");
  }
  const text = await answer.text();
  if (!answer.ok) {
    throw new Refusal(answer.status, sentence(answer.status, text));
  }
  return (text === "" ? null : JSON.parse(text)) as T;
}

function sentence(status: number, text: string): string {
  if (status === 401 || status === 403) {
    return "this browser may not use fullpipe: open the address that `fullpipe ui` has printed";
  }
  try {
    const body = JSON.parse(text) as { error?: unknown };
    if (typeof body.error === "string") {
      return body.error;
    }
  } catch {
    // Not every answer comes from fullpipe itself: a proxy speaks HTML.
  }
  return `fullpipe answered with HTTP status ${status}`;
}
