// @ts-check
// Requests to the server of this page. There are no others.

/** @import { RunKey, Outline, Details, SourceList, Change } from "./types.js" */

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
    throw new ServerError("The server of this page does not answer. Is `toolspeak page` still running?");
  }
  if (response.ok) return response.json();
  const text = await response.text();
  let message = text.trim();
  try {
    message = JSON.parse(text).error ?? message;
  } catch {
    // It is plain text.
  }
  throw new ServerError(message || `The server answered with status ${response.status}`);
}

/** @param {RunKey} key */
export function runPath(key) {
  return `/api/runs/${encodeURIComponent(key.source)}/${encodeURIComponent(key.id)}`;
}

/** @returns {Promise<SourceList[]>} */
export async function fetchSources() {
  return (await request("/api/runs")).sources;
}

/** @param {RunKey} key @returns {Promise<Outline>} */
export function fetchOutline(key) {
  return request(runPath(key));
}

/** @param {RunKey} key @param {number} row @returns {Promise<Details>} */
export function fetchDetails(key, row) {
  return request(`${runPath(key)}/rows/${row}`);
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
