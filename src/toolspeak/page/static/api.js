// @ts-check
// Requests to the server of this page. There are no others.

/** @import { Annotation, Change, ChatMessage, Details, Differences, Outline, RunAnswer, RunChanges, RunKey, ShownRequest } from "./types.js" */

/** What the server says in words when it refuses something. */
export class ServerError extends Error {}

/**
 * @param {string} path
 * @param {RequestInit} [options]
 * @returns {Promise<any>}
 */
async function request(path, options) {
  /** @type {Response} */
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new ServerError("Can't reach the server. Is `toolspeak page` still running?");
  }
  if (response.ok) return response.json();
  const text = await response.text();
  let message = text.trim();
  try {
    message = JSON.parse(text).error ?? message;
  } catch {
    // It is plain text.
  }
  if (message === "") message = `The server answered with status ${response.status}`;
  throw new ServerError(message.charAt(0).toUpperCase() + message.slice(1));
}

/** @param {RunKey} key */
export function runPath(key) {
  return `/api/runs/${encodeURIComponent(key.source)}/${encodeURIComponent(key.id)}`;
}

/**
 * Fetch the runs of all sources, or those that have changed.
 * @param {number} since the revision that is known; 0 for all
 * @returns {Promise<RunChanges>}
 */
export function fetchRuns(since) {
  return request(since ? `/api/runs?since=${since}` : "/api/runs");
}

/**
 * Find the runs in which words occur.
 * @param {string} words
 * @returns {Promise<{found: {source: string, id: string, excerpt: string}[], further: Record<string, string[]>, unread: number}>}
 */
export function searchRuns(words) {
  return request(`/api/search?${new URLSearchParams({ words })}`);
}

/** @param {RunKey} first @param {RunKey} second @returns {Promise<Differences>} */
export function fetchDifferences(first, second) {
  return request(`/api/differences?${new URLSearchParams({ first: joinKey(first), second: joinKey(second) })}`);
}

/** @param {RunKey} key @returns {Promise<Annotation & {can_annotate: boolean}>} */
export function fetchAnnotation(key) {
  return request(`${runPath(key)}/annotation`);
}

/** @param {RunKey} key @param {Annotation} annotation @returns {Promise<Annotation>} */
export function saveAnnotation(key, annotation) {
  return post(`${runPath(key)}/annotation`, annotation);
}

/** @param {RunKey} key */
export function joinKey(key) {
  return `${key.source}/${key.id}`;
}

/** @param {string} text @returns {RunKey | undefined} */
export function splitKey(text) {
  const slash = text.indexOf("/");
  return slash > 0 ? { source: text.slice(0, slash), id: text.slice(slash + 1) } : undefined;
}

/**
 * Fetch the outline of a run; of a long one, that of its beginning.
 * @param {RunKey} key
 * @returns {Promise<Outline>}
 */
export function fetchOutline(key) {
  return request(runPath(key));
}

/**
 * Fetch the rows that have changed after so many facts, when the whole run was read.
 * @param {RunKey} key
 * @param {number} after
 * @returns {Promise<Outline>}
 */
export function fetchRest(key, after) {
  return request(`${runPath(key)}?after=${after}`);
}

/** @param {RunKey} key @returns {Promise<RunAnswer>} */
export function fetchAnswer(key) {
  return request(`${runPath(key)}/answer`);
}

/** @param {RunKey} key @returns {Promise<ChatMessage[]>} */
export async function fetchConversation(key) {
  return (await request(`${runPath(key)}/conversation`)).messages;
}

/** @param {RunKey} key @param {number} row @returns {Promise<Details>} */
export function fetchDetails(key, row) {
  return request(`${runPath(key)}/rows/${row}`);
}

/**
 * @param {RunKey} key
 * @param {number} row
 * @param {string} dialect
 * @param {number} [first] the first message that is wanted
 * @returns {Promise<ShownRequest>}
 */
export function fetchShown(key, row, dialect, first) {
  const query = new URLSearchParams({ dialect });
  if (first !== undefined) query.set("first", String(Math.max(0, first)));
  return request(`${runPath(key)}/rows/${row}/shown?${query}`);
}

/**
 * @param {RunKey} key
 * @param {number} row
 * @param {number} section
 * @param {number} from
 * @returns {Promise<{text: string, chars: number}>}
 */
export function fetchText(key, row, section, from) {
  return request(`${runPath(key)}/rows/${row}/sections/${section}?from=${from}`);
}

/** @param {RunKey} key @param {number} row @param {number} section */
export function mediaPath(key, row, section) {
  return `${runPath(key)}/rows/${row}/sections/${section}/media`;
}

/** @param {RunKey} key @param {string} words @returns {Promise<number[]>} */
export async function findWords(key, words) {
  return (await request(`${runPath(key)}/find?${new URLSearchParams({ words })}`)).rows;
}

/**
 * @param {string} path
 * @param {unknown} body
 * @returns {Promise<any>}
 */
export function post(path, body) {
  return request(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
}

/**
 * Follow a run that goes on. The browser connects again by itself, and goes on behind the last fact that it has.
 * @param {RunKey} key
 * @param {number} after how many facts are known
 * @param {{outline: (outline: Outline) => void, changes: (changes: Change[]) => void, end: (failure: string) => void}} on
 * @returns {() => void} stops it
 */
export function followRun(key, after, on) {
  const events = new EventSource(`${runPath(key)}/live?after=${after}`);
  events.addEventListener("outline", (event) => on.outline(JSON.parse(event.data)));
  events.addEventListener("changes", (event) => on.changes(JSON.parse(event.data)));
  events.addEventListener("end", (event) => {
    events.close();
    on.end(JSON.parse(event.data).failure);
  });
  return () => events.close();
}
