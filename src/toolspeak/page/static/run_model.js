// @ts-check
// A run as the browser knows it: its rows, the texts that are arriving, and which rows are listed.

/** @import { Change, Draft, Outline, Row, Summary } from "./types.js" */

export class RunModel {
  /** @param {Outline} outline */
  constructor(outline) {
    /** @type {Row[]} */
    this.rows = [];
    /** @type {number[][]} the rows under each row */
    this._children = [];
    /** @type {number[]} */
    this._roots = [];
    /** @type {number[]} the row of each fact */
    this._rowByFact = [];
    /** @type {Set<number>} rows whose children are not listed */
    this.collapsed = new Set();
    /** @type {Map<number, Map<string, string>>} what is arriving, by row and part */
    this.drafts = new Map();
    /** @type {Map<number, string>} how far calls are, by row */
    this.progress = new Map();
    /** @type {Summary} */
    this.summary = outline.summary;
    this.facts = 0;
    this.isLive = outline.live;
    this.isReading = outline.reading;
    this.failure = outline.failure;
    this.started = outline.started;
    this.canAnswer = outline.answers === true;
    this.origin = outline.origin ?? undefined;
    this.duration = 0;
    this.hasTimes = false;
    /** @type {string} the fault that listed rows must have; "" for all rows, "any" for any fault */
    this.filter = "";
    this._known = 0; // the last time of a fact
    this._heard = 0; // when something was last heard of the run, on the clock of the browser
    this.mergeOutline(outline);
  }

  /** @param {Outline} outline @returns {number[]} the rows that have changed */
  mergeOutline(outline) {
    this.facts = outline.facts;
    this.summary = outline.summary;
    this.isLive = outline.live;
    this.isReading = outline.reading;
    this.failure = outline.failure;
    const before = [...this.drafts.keys(), ...this.progress.keys()];
    this.drafts.clear();
    for (const draft of outline.drafts) this._addDraft(draft);
    this.progress = new Map(outline.progress.map(({ row, text }) => [row, text]));
    this._mergeRows(outline.rows);
    return [...outline.rows.map((row) => row.i), ...before, ...this.drafts.keys(), ...this.progress.keys()];
  }

  /** Whether something may still happen. */
  get isGoingOn() {
    return this.isLive && this.summary.status !== "done";
  }

  /** Let the time of a run go on while it does, though nothing arrives. @returns {boolean} whether it has changed */
  tick() {
    if (!this.isGoingOn || !this.hasTimes) return false;
    const now = Date.now() / 1000;
    const since = this.started ?? (this._heard > 0 ? this._heard - this._known : undefined);
    if (since === undefined || now - since <= this.duration) return false;
    this.duration = now - since;
    return true;
  }

  /** @param {Change[]} changes @returns {{rows: Set<number>, drafts: Set<number>}} what has changed */
  apply(changes) {
    /** @type {Set<number>} */
    const rows = new Set();
    /** @type {Set<number>} */
    const drafts = new Set();
    this._heard = Date.now() / 1000;
    for (const change of changes) {
      if (change.type === "draft") {
        this._addDraft(change);
        drafts.add(change.row);
      } else if (change.type === "progress") {
        this.progress.set(change.row, change.text);
        drafts.add(change.row);
      } else if (change.type === "rows") {
        this.facts = change.facts;
        this.summary = change.summary;
        this._mergeRows(change.rows);
        for (const row of change.rows) {
          rows.add(row.i);
          const isWhole = row.kind === "turn" ? row.finish !== undefined || row.void : row.stage !== "writing";
          if (isWhole) this.drafts.delete(row.i);
          if (row.stage !== "running") this.progress.delete(row.i);
        }
      } else {
        this.isLive = false;
        this.failure = change.failure;
      }
    }
    return { rows, drafts };
  }

  /** @param {Draft} draft */
  _addDraft({ row, part, text }) {
    const parts = this.drafts.get(row) ?? new Map();
    parts.set(part, (parts.get(part) ?? "") + text);
    this.drafts.set(row, parts);
  }

  /** @param {Row[]} rows */
  _mergeRows(rows) {
    for (const row of rows) {
      if (this.rows[row.i] === undefined) {
        this._children[row.i] = [];
        if (row.parent === undefined) this._roots.push(row.i);
        else this._children[row.parent]?.push(row.i);
      }
      this.rows[row.i] = row;
      for (const fact of row.facts) this._rowByFact[fact] = row.i;
      const time = row.end ?? row.answered ?? row.start ?? row.ready ?? row.at;
      if (typeof time === "number") {
        this.hasTimes = true;
        this._known = Math.max(this._known, time);
      }
    }
    this.duration = Math.max(this._known, this.isGoingOn ? this.duration : 0);
  }

  /** @param {number} index whether a row has the faults that are looked for */
  _isWanted(index) {
    /** @type {string[]} */
    const faults = this.rows[index]?.faults ?? [];
    return this.filter === "any" ? faults.length > 0 : faults.includes(this.filter);
  }

  /** @param {string} fault "any" for any @returns {number[]} the rows in which it happened, in the order of the list */
  faulty(fault = "any") {
    const before = this.filter;
    this.filter = fault;
    const found = this.rows.filter((row) => row !== undefined && this._isWanted(row.i)).map((row) => row.i);
    this.filter = before;
    return found;
  }

  /** @param {number} index @returns {Row} */
  row(index) {
    const row = this.rows[index];
    if (row === undefined) throw new Error(`there is no row ${index}`);
    return row;
  }

  /** @param {number} fact @returns {number | undefined} */
  rowOfFact(fact) {
    return this._rowByFact[fact];
  }

  /** @param {number} index */
  hasChildren(index) {
    return (this._children[index]?.length ?? 0) > 0;
  }

  /** @param {number} index how deep a row is under others */
  level(index) {
    let level = 0;
    for (let parent = this.rows[index]?.parent; parent !== undefined; parent = this.rows[parent]?.parent) level += 1;
    return level;
  }

  /** Uncollapse whatever hides a row. @param {number} index */
  reveal(index) {
    for (let parent = this.rows[index]?.parent; parent !== undefined; parent = this.rows[parent]?.parent) {
      this.collapsed.delete(parent);
    }
  }

  /** @returns {number[]} the rows that are listed, in their order */
  listed() {
    if (this.filter !== "") return this._listFaulty();
    /** @type {number[]} */
    const found = [];
    const stack = [...this._roots].reverse();
    while (stack.length > 0) {
      const index = /** @type {number} */ (stack.pop());
      found.push(index);
      const children = this._children[index];
      if (children !== undefined && children.length > 0 && !this.collapsed.has(index)) {
        for (let place = children.length - 1; place >= 0; place--) stack.push(/** @type {number} */ (children[place]));
      }
    }
    return found;
  }

  /** @returns {number[]} the rows with the faults that are looked for, and those above them */
  _listFaulty() {
    /** @type {Set<number>} */
    const found = new Set();
    for (const index of this.faulty(this.filter)) {
      const above = [index];
      for (let parent = this.rows[index]?.parent; parent !== undefined; parent = this.rows[parent]?.parent) above.push(parent);
      for (const each of above.reverse()) found.add(each);
    }
    return [...found];
  }
}
