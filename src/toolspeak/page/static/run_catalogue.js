// @ts-check
// All runs that the server lists. They are fetched once; from then on, what has changed.

import { fetchRuns, joinKey } from "./api.js";

/** @import { Entry, RunChanges, RunKey, SourceList } from "./types.js" */

/** @typedef {{key: string, source: SourceList, entry: Entry}} ListedRun */

export class RunCatalogue {
  constructor() {
    /** @type {SourceList[]} as they are shown */
    this.sources = [];
    /** @type {SourceList[]} as the server lists them */
    this._listed = [];
    this._revision = 0;
    this._state = "";
  }

  /** Fetch what has changed. @returns {Promise<boolean>} whether something has */
  async refresh() {
    const changes = await fetchRuns(this._revision);
    const hasRuns = changes.sources.some((source) => source.runs.length > 0 || source.gone);
    const state = JSON.stringify(changes.sources.map(({ name, failure, unread }) => [name, failure, unread]));
    if (!hasRuns && state === this._state) return false;
    this._apply(changes);
    this._state = state;
    return true;
  }

  /** @param {RunChanges} changes */
  _apply({ revision, sources }) {
    const known = new Map(this._listed.map((source) => [source.name, source]));
    this._listed = sources.map((source) => {
      const before = this._revision ? known.get(source.name) : undefined;
      if (before === undefined) return source;
      const entries = new Map(before.runs.map((entry) => [entry.id, entry]));
      for (const id of source.gone ?? []) entries.delete(id);
      for (const entry of source.runs) entries.set(entry.id, entry);
      const runs = [...entries.values()].sort((one, other) => (other.updated ?? 0) - (one.updated ?? 0));
      return { ...source, runs };
    });
    this._revision = revision;
    this.sources = hideTwins(this._listed);
  }

  get count() {
    return this.sources.reduce((count, source) => count + source.runs.length, 0);
  }

  /** How many runs were not read yet. */
  get unread() {
    return this.sources.reduce((count, source) => count + (source.unread ?? 0), 0);
  }

  /** @returns {ListedRun[]} */
  list() {
    return this.sources.flatMap((source) =>
      source.runs.map((entry) => ({ key: joinKey({ source: source.name, id: entry.id }), source, entry })),
    );
  }

  /** @returns {RunKey | undefined} the only run that there is */
  get only() {
    const [first] = this.sources.flatMap((source) => source.runs.map((entry) => ({ source: source.name, id: entry.id })));
    return this.count === 1 ? first : undefined;
  }
}

/**
 * Leave out the second entry of a run: a chat is in the log, and its playground has a file of it. While the run goes on,
 * only the playground can control it; later, only the log knows its conversation.
 * @param {SourceList[]} sources
 */
function hideTwins(sources) {
  const logged = new Set(sources.find((source) => source.name === "log")?.runs.map((entry) => entry.id));
  const twins = (sources.find((source) => source.name === "playground")?.runs ?? []).filter(({ run_id: id }) => id && logged.has(id));
  if (twins.length === 0) return sources;
  const hidden = new Set(twins.map((entry) => (entry.status === "running" || entry.status === "paused" ? `log/${entry.run_id}` : `playground/${entry.id}`)));
  return sources.map((source) => ({ ...source, runs: source.runs.filter((entry) => !hidden.has(`${source.name}/${entry.id}`)) }));
}
