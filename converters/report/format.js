"use strict";
// Numbers and names as people read them. Pure functions; null means "not known".

const UNKNOWN = "–";

const MOMENT_FORMAT = new Intl.NumberFormat("en-GB", { minimumFractionDigits: 3, maximumFractionDigits: 3 });
const COUNT_FORMAT = new Intl.NumberFormat("en-GB");

function formatCount(value) {
  return value === null || value === undefined ? UNKNOWN : COUNT_FORMAT.format(value);
}

/** Three significant figures, without an exponent and without trailing zeros that say nothing. */
function threeFigures(value) {
  if (value >= 100) return String(Math.round(value));
  return String(Number(value.toPrecision(3)));
}

function scaled(value, step, units) {
  let size = Math.abs(value);
  let unit = 0;
  while (size >= step && unit < units.length - 1) {
    size /= step;
    unit += 1;
  }
  return `${value < 0 ? "−" : ""}${threeFigures(size)} ${units[unit]}`;
}

function formatNanoseconds(value) {
  if (value === null || value === undefined) return UNKNOWN;
  if (Math.abs(value) >= 60e9) {
    const seconds = Math.round(Math.abs(value) / 1e9);
    const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
    const parts = [hours && `${hours} h`, `${minutes} min`, `${seconds % 60} s`];
    return (value < 0 ? "−" : "") + parts.filter(Boolean).join(" ");
  }
  return scaled(value, 1000, ["ns", "µs", "ms", "s"]);
}

function formatBytes(value) {
  if (value === null || value === undefined) return UNKNOWN;
  return scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
}

function formatFlops(value) {
  if (value === null || value === undefined) return UNKNOWN;
  return scaled(value, 1000, ["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP"]);
}

function formatShare(part, whole) {
  return whole ? `${threeFigures((100 * part) / whole)} %` : UNKNOWN;
}

function formatTuple(values) {
  if (values === null || values === undefined) return UNKNOWN;
  return `(${values.map((value) => (value === null ? "?" : String(value))).join(", ")})`;
}

function formatGrid(grid) {
  const sizes = grid.map((size) => size ?? 1);
  while (sizes.length > 1 && sizes[sizes.length - 1] === 1) sizes.pop();
  return sizes.map(formatCount).join(" × ");
}

/** A moment on the timeline: milliseconds to the microsecond, so that neighbours differ. */
function formatMoment(nanoseconds) {
  return `${MOMENT_FORMAT.format(nanoseconds / 1e6)} ms`;
}

/** At most `limit` characters; what is cut off is counted. */
function shortText(text, limit = 240) {
  const characters = String(text);
  if (characters.length <= limit) return characters;
  return `${characters.slice(0, limit)}… (${formatCount(characters.length)} characters)`;
}

function plural(count, one, many = `${one}s`) {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

function baseName(path) {
  return path ? path.slice(path.lastIndexOf("/") + 1) : UNKNOWN;
}

/** "file.py:12" for a frame or a kernel. */
function formatPlace(file, line) {
  if (!file) return UNKNOWN;
  return line ? `${baseName(file)}:${line}` : baseName(file);
}
