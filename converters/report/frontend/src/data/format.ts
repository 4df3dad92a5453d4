// Numbers and names as people read them. Pure functions; null means "not known".

import type { Grid } from "./types";

export type Maybe<T> = T | null | undefined;

export const UNKNOWN = "–";

const COUNT = new Intl.NumberFormat("en-GB");

export function formatCount(value: Maybe<number>): string {
  return value == null ? UNKNOWN : COUNT.format(value);
}

/** Three significant figures, without an exponent and without zeros that say nothing. */
export function threeFigures(value: number): string {
  if (Math.abs(value) >= 100) return COUNT.format(Math.round(value));
  return String(Number(value.toPrecision(3)));
}

/** The same for a value that may be unknown. */
export function formatNumber(value: Maybe<number>): string {
  return value == null ? UNKNOWN : threeFigures(value);
}

/** Three digits as the terminal has them, so that columns align: "16.0", "1.70", but "4" and "0.279". */
function threeDigits(value: number): string {
  const size = Math.abs(value);
  if (size >= 99.95) return COUNT.format(Math.round(value));
  if (size >= 9.995) return value.toFixed(1);
  if (size < 1 || Number.isInteger(value)) return threeFigures(value);
  return value.toFixed(2);
}

function scaled(value: number, step: number, units: readonly string[]): string {
  let size = Math.abs(value);
  let unit = 0;
  while (size >= step && unit < units.length - 1) {
    size /= step;
    unit += 1;
  }
  const text = unit === 0 && Number.isInteger(size) ? COUNT.format(size) : threeDigits(size);
  return `${value < 0 ? "−" : ""}${text} ${units[unit] ?? ""}`;
}

export function formatNanoseconds(value: Maybe<number>): string {
  if (value == null) return UNKNOWN;
  if (Math.abs(value) < 60e9) return scaled(value, 1000, ["ns", "µs", "ms", "s"]);
  const seconds = Math.round(Math.abs(value) / 1e9);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const parts = [hours ? `${hours} h` : "", `${minutes} min`, `${seconds % 60} s`];
  return (value < 0 ? "−" : "") + parts.filter(Boolean).join(" ");
}

export function formatBytes(value: Maybe<number>): string {
  if (value == null) return UNKNOWN;
  return scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
}

export function formatFlops(value: Maybe<number>): string {
  if (value == null) return UNKNOWN;
  return scaled(value, 1000, ["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP"]);
}

/** A rate, as "1.2 TB/s": `unit` is what follows the power of 1000. */
export function formatRate(value: Maybe<number>, unit: string): string {
  if (value == null) return UNKNOWN;
  return scaled(
    value,
    1000,
    ["", "k", "M", "G", "T", "P"].map((power) => power + unit),
  );
}

export function formatShare(part: Maybe<number>, whole: Maybe<number>): string {
  if (part === null || part === undefined || !whole) return UNKNOWN;
  return `${threeDigits((100 * part) / whole)} %`;
}

/** A share as a part of 1. */
export function formatPart(part: Maybe<number>): string {
  return formatShare(part, 1);
}

export function formatTuple(values: Maybe<readonly (number | null)[]>): string {
  if (!values) return UNKNOWN;
  return `(${values.map((value) => (value === null ? "?" : String(value))).join(", ")})`;
}

/** "4 × 2": trailing ones are left out. */
export function formatGrid(grid: Grid): string {
  const sizes: number[] = grid.map((size) => size ?? 1);
  while (sizes.length > 1 && sizes[sizes.length - 1] === 1) sizes.pop();
  return sizes.map(formatCount).join(" × ");
}

export function gridSize(grid: Grid): number {
  return grid.reduce((size: number, axis) => size * (axis ?? 1), 1);
}

/** A moment on the timeline, in s, ms or µs, to a tenth of a microsecond, so that neighbors differ. */
export function formatMoment(nanoseconds: Maybe<number>): string {
  if (nanoseconds == null) return UNKNOWN;
  const size = Math.abs(nanoseconds);
  if (size >= 1e9) return `${(nanoseconds / 1e9).toFixed(7)} s`;
  if (size >= 1e6) return `${(nanoseconds / 1e6).toFixed(4)} ms`;
  return `${(nanoseconds / 1e3).toFixed(1)} µs`;
}

/** Characters that change the direction of what follows, or that cannot be seen. */
const DECEIVING = /[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** Text with such characters spelt out, so that a name cannot pass for another. */
export function plainText(text: string): string {
  return text.replace(DECEIVING, (character) => {
    const code = character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
    return `⟨U+${code}⟩`;
  });
}

/** At most `limit` characters of a text of the trace; what is cut off is counted. */
export function shortText(text: Maybe<string>, limit = 240): string {
  const characters = text ?? UNKNOWN;
  const shown = plainText(characters.slice(0, limit));
  if (characters.length <= limit) return shown;
  return `${shown}… (${formatCount(characters.length)} characters)`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

export function baseName(path: Maybe<string>): string {
  return path ? path.slice(path.lastIndexOf("/") + 1) : UNKNOWN;
}

/** "file.py:12" for a frame or a kernel. */
export function formatPlace(file: Maybe<string>, line: Maybe<number>): string {
  if (!file) return UNKNOWN;
  return line ? `${baseName(file)}:${line}` : baseName(file);
}

export function sumKnown(values: readonly (number | null)[]): number | null {
  const known = values.filter((value): value is number => value !== null);
  return known.length ? known.reduce((sum, value) => sum + value, 0) : null;
}

const FORMATS = {
  count: formatCount,
  bytes: formatBytes,
  ns: formatNanoseconds,
  flops: formatFlops,
  share: formatPart,
  number: formatNumber,
  moment: formatMoment,
  rate: (value: Maybe<number>) => formatRate(value, "FLOP/s"),
  plain: (value: Maybe<number>) => String(value ?? UNKNOWN),
} as const;

/** The unit of a figure, or what writes it out. */
export type Format = keyof typeof FORMATS | ((value: Maybe<number>) => string);

export function formatted(value: Maybe<number>, as: Format = "count"): string {
  return typeof as === "function" ? as(value) : FORMATS[as](value);
}

/** The smallest 1, 2 or 5 times a power of ten that is at least `least`. */
export function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return [1, 2, 5].map((factor) => factor * power).find((step) => step >= least) ?? 10 * power;
}
