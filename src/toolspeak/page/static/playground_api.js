// @ts-check
// What the playground asks of the server.

import { post, runPath } from "./api.js";

/** @import { RunKey } from "./types.js" */

/**
 * What can be chosen.
 * @typedef {object} Offer
 * @property {string[]} models
 * @property {string[]} dialects
 * @property {{name: string, description: string, approve: boolean}[]} tools
 * @property {Record<string, number | null>} limits
 */

/**
 * With what a run is started.
 * @typedef {object} Setup
 * @property {string} model
 * @property {string} dialect
 * @property {string} [system]
 * @property {string[]} [tools]
 * @property {Record<string, number | null>} [limits]
 */

/** @typedef {{what: "" | "message" | "answer" | "result", text: string, is_error: boolean}} Editable */

/** @type {Promise<Offer> | undefined} */
let offer;

/** @param {string} path @returns {Promise<any>} */
async function get(path) {
  const response = await fetch(path);
  const data = await response.json();
  if (!response.ok) throw new Error(data.error ?? `The server answered with status ${response.status}`);
  return data;
}

/** @returns {Promise<Offer>} */
export function fetchOffer() {
  offer ??= get("/api/playground");
  return offer;
}

/** @param {string} prompt @param {Setup} setup @returns {Promise<RunKey>} */
export function startRun(prompt, setup) {
  return post("/api/playground/runs", { prompt, setup });
}

/** @param {RunKey} key @param {number} row @returns {Promise<Editable>} */
export function fetchEdit(key, row) {
  return get(`${runPath(key)}/rows/${row}/edit`);
}

/**
 * @param {RunKey} key
 * @param {{setup: Setup, fact?: number, row?: number, text?: string, is_error?: boolean, prompt?: string}} body
 * @returns {Promise<RunKey>}
 */
export function goOn(key, body) {
  return post(`${runPath(key)}/go-on`, body);
}
