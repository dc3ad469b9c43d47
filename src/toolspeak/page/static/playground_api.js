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

/**
 * What can be edited of a row, and after which of its facts a run can go on.
 * @typedef {object} Editable
 * @property {"" | "message" | "answer" | "result"} what
 * @property {string} text
 * @property {boolean} is_error
 * @property {{name: string, arguments: string}[]} [calls]
 * @property {[number, string][]} points
 */

/** A file that is sent with a prompt. @typedef {{name: string, mime: string, data: string}} Attachment */

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

/** @param {string} prompt @param {Setup} setup @param {Attachment[]} [attachments] @returns {Promise<RunKey>} */
export function startRun(prompt, setup, attachments = []) {
  return post("/api/playground/runs", { prompt, setup, attachments });
}

/** @param {RunKey} key @param {number} row @returns {Promise<Editable>} */
export function fetchEdit(key, row) {
  return get(`${runPath(key)}/rows/${row}/edit`);
}

/**
 * @param {RunKey} key
 * @param {{setup: Setup, fact?: number, row?: number, text?: string, is_error?: boolean, prompt?: string,
 *   calls?: {name: string, arguments: string}[], attachments?: Attachment[]}} body
 * @returns {Promise<RunKey>}
 */
export function goOn(key, body) {
  return post(`${runPath(key)}/go-on`, body);
}
