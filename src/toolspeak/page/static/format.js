// @ts-check
// Numbers, times and sizes in short words.

/** @param {number} count */
export function formatCount(count) {
  if (count < 1000) return String(count);
  if (count < 1e6) return `${trim(count / 1000)}k`;
  return `${trim(count / 1e6)}M`;
}

/**
 * Input and output tokens. Some endpoints do not count those of the input.
 * @param {{input_tokens?: number, output_tokens?: number}} usage
 */
export function formatTokens({ input_tokens: read = 0, output_tokens: written = 0 }) {
  return `${read > 0 ? `${formatCount(read)} in / ` : ""}${formatCount(written)} out`;
}

/** @param {number} value */
function trim(value) {
  return value >= 100 ? value.toFixed(0) : value.toFixed(1).replace(/\.0$/, "");
}

/** @param {number} seconds */
export function formatSeconds(seconds) {
  if (seconds < 0.0995) return `${Math.max(0, Math.round(seconds * 1000))} ms`;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** @param {number} dollars */
export function formatCost(dollars) {
  if (dollars === 0) return "$0";
  if (dollars < 0.00001) return "<$0.00001";
  return `$${dollars < 0.01 ? dollars.toFixed(5).replace(/0+$/, "") : dollars.toFixed(2)}`;
}

/** @param {number} chars */
export function formatChars(chars) {
  return `${formatCount(chars)} ${chars === 1 ? "character" : "characters"}`;
}

/** @param {number} bytes */
export function formatBytes(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1e6 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

// Built once: a date that formats itself builds one each time.
const CLOCK = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat([], { day: "numeric", month: "short" });

/**
 * @param {number} time seconds since 1970
 * @param {Date} [now]
 */
export function formatTime(time, now = new Date()) {
  const date = new Date(time * 1000);
  const clock = CLOCK.format(date).replace(" ", "\u00a0"); // "AM" stays beside its hour
  if (date.toDateString() === now.toDateString()) return clock;
  return `${DAY.format(date)}, ${clock}`;
}
