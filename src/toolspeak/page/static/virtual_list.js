// @ts-check
// A list that keeps only those of its items in the document that are in sight, and a few around them. Items may have any
// height: one that was never drawn is taken to be as high as `estimate` says, and is measured when it is drawn.

import { h } from "./dom.js";

const MARGIN_PIXELS = 100;

/**
 * @template K
 */
export class VirtualList {
  /**
   * @param {object} options
   * @param {string} options.label what the list is, for those who hear it
   * @param {(key: K) => HTMLElement} options.draw draws an item
   * @param {() => number} options.estimate the height of an item that was never drawn
   * @param {() => void} [options.onShow] is called when other items are drawn, or the list was scrolled
   * @param {boolean} [options.isTable] whether the items are rows of a table
   * @param {HTMLElement} [options.head] what stands above the items and scrolls with them
   */
  constructor({ label, draw, estimate, onShow = () => {}, isTable = false, head }) {
    this._isTable = isTable;
    this._draw = draw;
    this._onShow = onShow;
    this._estimate = estimate;
    /** @type {K[]} */
    this._keys = [];
    /** @type {Map<K, number>} */
    this._places = new Map();
    /** @type {Map<K, number>} heights that differ from the estimate */
    this._heights = new Map();
    /** @type {Float64Array} where each item begins, and the whole height */
    this._tops = new Float64Array(1);
    /** @type {[number, number]} the places in sight when items were last drawn: to ask the browser now would cost a layout */
    this._inSight = [0, 0];
    /** @type {Map<K, HTMLElement>} */
    this._drawn = new Map();
    this._space = h("div", { class: "list-space", role: isTable ? "rowgroup" : "list", "aria-label": label });
    this._head = head;
    const tabindex = isTable ? null : "-1";
    this.element = h("div", { class: "list", onscroll: () => this._scroll(), tabindex }, head, this._space);
    this.staysAtEnd = false;
    this._endTop = 0;
    this._frame = 0;
    /** @type {WeakMap<Element, K>} */
    this._keyByElement = new WeakMap();
    this._observer = new ResizeObserver((entries) => this._measure(entries));
    new ResizeObserver(() => this._resize()).observe(this.element);
    if (head !== undefined) new ResizeObserver(() => this._resizeHead(head)).observe(head);
    this._headHeight = 0;
    /** @type {K | undefined} an item that stays in sight when the list or its head gets another size */
    this.anchor = undefined;
    this._width = 0;
  }

  /** How far the items are scrolled: less than 0 if their head is in sight. */
  get _offset() {
    return this.element.scrollTop - (this._head?.offsetHeight ?? 0);
  }

  /** @returns {[number, number]} the places of the first and the last item in sight */
  get range() {
    const last = Math.max(0, this._keys.length - 1);
    return [Math.min(this._inSight[0], last), Math.min(this._inSight[1], last)];
  }

  get count() {
    return this._keys.length;
  }

  /** @param {K[]} keys */
  setKeys(keys) {
    this._keys = keys;
    this._places = new Map(keys.map((key, place) => [key, place]));
    this._lay();
  }

  /** Draw items anew. @param {Iterable<K>} keys */
  redraw(keys) {
    for (const key of keys) this._drop(key);
    this._schedule();
  }

  redrawAll() {
    this.redraw([...this._drawn.keys()]);
  }

  /** Draw what is in sight without waiting for the next frame. */
  showNow() {
    this._show();
  }

  /** @param {K} key @returns {HTMLElement | undefined} */
  find(key) {
    return this._drawn.get(key);
  }

  /** @param {K} key */
  placeOf(key) {
    return this._places.get(key) ?? -1;
  }

  /** @param {number} place @returns {K | undefined} */
  keyAt(place) {
    return this._keys[place];
  }

  /**
   * Scroll until an item is in sight, and draw it.
   * @param {K} key
   * @param {"nearest" | "start" | "center"} [block]
   */
  scrollTo(key, block = "nearest") {
    const place = this._places.get(key);
    if (place === undefined) return;
    this.staysAtEnd = false;
    const head = this._head?.offsetHeight ?? 0;
    const top = head + (this._tops[place] ?? 0);
    const bottom = head + (this._tops[place + 1] ?? 0);
    const { scrollTop, clientHeight } = this.element;
    if (block === "start" || bottom - top > clientHeight) this.element.scrollTop = top - 8;
    else if (block === "center") this.element.scrollTop = (top + bottom - clientHeight) / 2;
    else if (top < scrollTop) this.element.scrollTop = top - 8;
    else if (bottom > scrollTop + clientHeight) this.element.scrollTop = bottom - clientHeight + 8;
    this._show();
  }

  get isAtEnd() {
    const { scrollTop, clientHeight, scrollHeight } = this.element;
    return scrollTop + clientHeight >= scrollHeight - 40;
  }

  /** Scroll to the end, and stay there while items grow, until somebody scrolls away or looks for an item. */
  scrollToEnd() {
    this.staysAtEnd = true;
    this._goToEnd();
    this._schedule();
  }

  _goToEnd() {
    this.element.scrollTop = this.element.scrollHeight;
    this._endTop = this.element.scrollTop;
  }

  _scroll() {
    this.staysAtEnd &&= this.isAtEnd || this.element.scrollTop >= this._endTop;
    this._schedule();
  }

  _resize() {
    if (this.element.clientWidth !== this._width && !this._isHidden) {
      this._width = this.element.clientWidth;
      this._heights.clear(); // texts break elsewhere now; what is drawn is measured at once
      for (const [key, element] of this._drawn) this._note(key, element.offsetHeight, this._estimate());
      this._lay();
      this._keepAnchor();
    }
    this._schedule();
  }

  /** @param {HTMLElement} head */
  _resizeHead(head) {
    const difference = head.offsetHeight - this._headHeight;
    this._headHeight = head.offsetHeight;
    if (this.element.scrollTop > 0 && !this.staysAtEnd) this.element.scrollTop += difference; // what is read stays there
    this._keepAnchor();
    this._schedule();
  }

  _keepAnchor() {
    if (this.anchor !== undefined && !this.staysAtEnd && !this._isHidden) this.scrollTo(this.anchor);
  }

  _lay() {
    const estimate = this._estimate();
    const tops = new Float64Array(this._keys.length + 1);
    let top = 0;
    this._keys.forEach((key, place) => {
      tops[place] = top;
      top += this._heights.get(key) ?? estimate;
    });
    tops[this._keys.length] = top;
    this._tops = tops;
    this._space.style.height = `${top}px`;
    this._show();
  }

  /** @param {ResizeObserverEntry[]} entries */
  _measure(entries) {
    if (this._isHidden) return;
    const estimate = this._estimate();
    let changed = false;
    let above = 0;
    for (const { target } of entries) {
      const key = this._keyByElement.get(target);
      if (key === undefined || !(target instanceof HTMLElement) || !target.isConnected) continue;
      const place = this._places.get(key);
      const difference = this._note(key, target.offsetHeight, estimate);
      if (difference === 0 || place === undefined) continue;
      changed = true;
      if ((this._tops[place + 1] ?? 0) <= this._offset) above += difference;
    }
    if (!changed) return;
    this._lay();
    if (above !== 0 && !this.staysAtEnd) this.element.scrollTop += above; // what is read stays where it is
    this._schedule();
  }

  /** @param {K} key @param {number} height @param {number} estimate @returns {number} by how much it has changed */
  _note(key, height, estimate) {
    const before = this._heights.get(key) ?? estimate;
    if (height === estimate) this._heights.delete(key);
    else this._heights.set(key, height);
    return height - before;
  }

  _schedule() {
    if (this._frame === 0) {
      this._frame = requestAnimationFrame(() => {
        this._frame = 0;
        this._show();
        this._onShow();
      });
    }
  }

  /** @param {number} y @returns {number} the place of the item at a height */
  _placeAt(y) {
    let low = 0;
    let high = this._keys.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this._tops[middle + 1] ?? 0) <= y) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Whether something else stands in its place, as on a narrow screen: then its items have no height. */
  get _isHidden() {
    return this.element.clientHeight === 0;
  }

  _show() {
    if (this._isHidden) {
      for (const key of [...this._drawn.keys()]) this._drop(key);
      return;
    }
    const { clientHeight } = this.element;
    const scrollTop = this._offset;
    this._inSight = [this._placeAt(scrollTop), this._placeAt(scrollTop + clientHeight)];
    const first = this._placeAt(scrollTop - MARGIN_PIXELS);
    const last = Math.min(this._placeAt(scrollTop + clientHeight + MARGIN_PIXELS), this._keys.length - 1);
    const wanted = new Set(this._keys.slice(first, last + 1));
    for (const key of [...this._drawn.keys()]) {
      if (!wanted.has(key)) this._drop(key);
    }
    /** @type {Element | null} */
    let before = null;
    for (let place = first; place <= last; place++) {
      const key = this._keys[place];
      if (key === undefined) continue;
      let element = this._drawn.get(key);
      if (element === undefined) {
        element = this._draw(key);
        element.setAttribute("role", this._isTable ? "row" : "listitem");
        this._drawn.set(key, element);
        this._keyByElement.set(element, key);
        this._observer.observe(element);
      }
      if (this._isTable) {
        element.setAttribute("aria-rowindex", String(place + 2)); // after the row of headings
      } else {
        element.setAttribute("aria-setsize", String(this._keys.length));
        element.setAttribute("aria-posinset", String(place + 1));
      }
      element.style.transform = `translateY(${this._tops[place]}px)`;
      /** @type {Element | null} */
      const next = before === null ? this._space.firstElementChild : before.nextElementSibling;
      if (next !== element) this._space.insertBefore(element, next);
      before = element;
    }
    if (this.staysAtEnd) this._goToEnd();
  }

  /** @param {K} key */
  _drop(key) {
    const element = this._drawn.get(key);
    if (element === undefined) return;
    this._observer.unobserve(element);
    element.remove();
    this._drawn.delete(key);
  }
}
