// How often each element is accessed. Up to 16 M elements each has a count; beyond it, counts of
// whole regions are worked out from the progressions, exactly where that takes few steps.

import { binStart, type Span } from "../data/tensors";
import type { Access } from "../data/types";
import { ALL, type Lanes, placesOf } from "./records";
import { addComb, bump, type Comb, combOf, costOf, countWithin } from "./combs";
import type { Look } from "./look";

export interface Counts {
  readonly combs: readonly Comb[];
  /** Accesses in all. */
  readonly total: number;
  /** Accesses before the tensor's first or past its last element. */
  readonly outside: number;
  /** Distinct elements of the tensor, and the most accesses of one; null: not each was counted. */
  readonly touched: number | null;
  readonly most: number | null;
  /** First and last unit that is touched, outside the tensor too. */
  readonly first: number;
  readonly last: number;
  /** Accesses of each unit from `low` on, 0 beyond them; null where there are too many. */
  readonly dense: { readonly low: number; readonly counts: Uint32Array } | null;
}

/** Most elements that are counted one by one. */
export const MOST_DENSE = 2 ** 24;
/** Steps that counting may take. */
const MOST_STEPS = 6e8;
/** Units beside the tensor that are counted one by one too. */
const BESIDE = 2 ** 16;

export interface Counted {
  readonly accesses: readonly Access[];
  readonly unit: number;
  readonly width: number;
}

export function combsOf({ accesses, unit, width }: Counted, wanted = ALL, lanes?: Lanes): Comb[] {
  const places = accesses.flatMap((access) => placesOf(access, wanted, lanes));
  return places.map((each) => combOf(each, unit, width));
}

export function endsOf(combs: readonly Comb[]): readonly [first: number, last: number] {
  return combs.reduce(
    ([first, last], comb) => [Math.min(first, comb.start), Math.max(last, comb.last)],
    [Infinity, -Infinity],
  );
}

export function countsOf(of: Counted, extent: number, wanted = ALL, lanes?: Lanes): Counts {
  const combs = combsOf(of, wanted, lanes);
  const sum = (value: (comb: Comb) => number): number =>
    combs.reduce((all, comb) => all + value(comb), 0);
  const total = sum((comb) => comb.total);
  const outside = total - sum((comb) => countWithin(comb, 0, extent));
  const [first, last] = endsOf(combs);
  const plain = { combs, total, outside, first, last, touched: null, most: null, dense: null };
  // what one program touches is often little of a large tensor
  const low = combs.length ? Math.max(-BESIDE, first) : 0;
  const high = Math.max(low, Math.min(extent + BESIDE, last + 1));
  if (high - low > MOST_DENSE + 2 * BESIDE || sum(costOf) > MOST_STEPS) return plain;
  const counts = new Uint32Array(high - low);
  for (const comb of combs) addComb(counts, low, comb);
  let [touched, most] = [0, 0];
  counts.forEach((count, place) => {
    if (count > 0 && place + low >= 0 && place + low < extent) touched += 1;
    if (count > most) most = count;
  });
  return { ...plain, touched, most, dense: { low, counts } };
}

/** Accesses of one unit. */
export function countAt({ combs, dense }: Counts, offset: number): number {
  const known = dense?.counts[offset - dense.low];
  return known ?? combs.reduce((sum, comb) => sum + countWithin(comb, offset, offset + 1), 0);
}

export interface Region {
  readonly slice: number;
  readonly rows: Span;
  readonly columns: Span;
}

/** Bins each way of what is not counted one by one: enough to see, few enough to count. */
export const MOST_BINS = 128;
/** Countings of a stretch of a row, for one picture. */
const MOST_STRETCHES = 1_500_000;

export interface Bins {
  /** Accesses in each bin, row by row. */
  readonly counts: Float64Array;
  /** Whether they were worked out from samples of their rows. */
  readonly sampled: boolean;
}

export function binsOf(of: Counts, look: Look, region: Region): Bins {
  const { rows, columns } = region;
  const counts = new Float64Array(rows.bins * columns.bins);
  const start = look.start + region.slice * (look.slices?.stride ?? 0);
  if (of.dense) {
    addDense(counts, of.dense, look, region, start);
    return { counts, sampled: false };
  }
  const lines = of.combs.map((comb) => linesOf(comb, look, region, start));
  const bins = isTurned(look) ? rows.bins : columns.bins;
  const all = lines.reduce((sum, [first, end]) => sum + Math.max(0, end - first) * bins, 0);
  const every = Math.max(1, Math.ceil(all / MOST_STRETCHES));
  of.combs.forEach((comb, number) => {
    addStretches(counts, comb, look, region, start, lines[number] as [number, number], every);
  });
  const step = isTurned(look) ? look.rows.stride : look.columns.stride;
  return { counts, sampled: every > 1 || step !== 1 };
}

function addDense(
  bins: Float64Array,
  { low, counts }: NonNullable<Counts["dense"]>,
  look: Look,
  { rows, columns }: Region,
  start: number,
): void {
  const step = look.columns.stride;
  for (let down = 0; down < rows.bins; down += 1)
    for (let row = binStart(rows, down); row < binStart(rows, down + 1); row += 1) {
      let at = start - low + row * look.rows.stride + columns.first * step;
      if (at >= counts.length || at + (columns.end - columns.first) * step < 0) continue;
      for (let across = 0; across < columns.bins; across += 1)
        for (
          let left = binStart(columns, across + 1) - binStart(columns, across);
          left > 0;
          left--
        ) {
          if (counts[at]) bump(bins, down * columns.bins + across, counts[at] as number);
          at += step;
        }
    }
}

/** Whether a stretch is along rows: along the axis whose elements are nearer to each other. */
function isTurned(look: Look): boolean {
  return look.columns.stride > look.rows.stride;
}

/** The first line with stretches of a comb in a region, and the one behind the last. */
function linesOf(comb: Comb, look: Look, region: Region, start: number): [number, number] {
  const outer = isTurned(look) ? region.columns : region.rows;
  const { stride } = isTurned(look) ? look.columns : look.rows;
  return [
    Math.max(outer.first, Math.floor((comb.start - start) / stride)),
    Math.min(outer.end, Math.floor((comb.last - start) / stride) + 1),
  ];
}

/** Count every so many lines, a stretch at a time: each is one counting. */
function addStretches(
  bins: Float64Array,
  comb: Comb,
  look: Look,
  region: Region,
  start: number,
  [first, end]: [number, number],
  every: number,
): void {
  const turned = isTurned(look);
  const [outer, inner] = turned ? [region.columns, region.rows] : [region.rows, region.columns];
  const [major, minor] = turned ? [look.columns, look.rows] : [look.rows, look.columns];
  for (let line = first; line < end; line += every) {
    const major_bin = Math.floor(((line - outer.first) * outer.bins) / (outer.end - outer.first));
    const from = start + line * major.stride;
    const share = Math.min(every, end - line) / minor.stride;
    for (let bin = 0; bin < inner.bins; bin += 1) {
      const [low, high] = [binStart(inner, bin), binStart(inner, bin + 1)];
      const many = countWithin(comb, from + low * minor.stride, from + high * minor.stride);
      const [down, across] = turned ? [bin, major_bin] : [major_bin, bin];
      bump(bins, down * region.columns.bins + across, many * share);
    }
  }
}
