// Accesses of whole regions of a tensor too large for a count of each element: each row's stretch is
// counted by itself, of evenly spread rows only where they are too many, which the caller is told.

import { type Comb, countBelow, lastOf } from "./comb";
import type { Axis, Look } from "./tensor";

/** Part of a look in so many bins: rows and columns from the first to one past the last. */
export interface Region {
  readonly slice: number;
  readonly rows: readonly [first: number, end: number];
  readonly columns: readonly [first: number, end: number];
  /** Bins down and across. */
  readonly down: number;
  readonly across: number;
}

export interface Bins {
  /** Accesses in each bin, row by row. */
  readonly counts: Float64Array;
  /** Whether they were worked out from samples of their rows. */
  readonly sampled: boolean;
}

/** Countings of a stretch of a row, for one picture. */
const MOST_STRETCHES = 1_500_000;
/** Bins each way: enough to see, few enough to count. */
const MOST_BINS = 128;

export function regionCounts(combs: readonly Comb[], look: Look, region: Region): Bins {
  const [down, across] = [Math.min(region.down, MOST_BINS), Math.min(region.across, MOST_BINS)];
  const coarse = { ...region, down, across };
  const found = { counts: new Float64Array(down * across), sampled: false };
  const most = MOST_STRETCHES / combs.length;
  for (const comb of combs)
    if (addStretches(found.counts, comb, look, coarse, most)) found.sampled = true;
  return { counts: spread(found.counts, coarse, region), sampled: found.sampled };
}

function banded(comb: Comb, [first, end]: readonly [number, number], bands: number): Float64Array {
  const found = new Float64Array(bands);
  let before = countBelow(comb, first);
  for (let band = 0; band < bands; band += 1) {
    const next = countBelow(comb, first + Math.ceil(((band + 1) * (end - first)) / bands));
    found[band] = next - before;
    before = next;
  }
  return found;
}

/** Count row by row, at most so many stretches; whether only some of the rows were counted. */
function addStretches(
  bins: Float64Array,
  comb: Comb,
  look: Look,
  region: Region,
  most: number,
): boolean {
  const turned = look.columns.stride > look.rows.stride;
  const [outer, inner] = turned ? [region.columns, region.rows] : [region.rows, region.columns];
  const [lines, stretches] = turned ? [region.across, region.down] : [region.down, region.across];
  const [major, minor]: readonly [Axis, Axis] = turned
    ? [look.columns, look.rows]
    : [look.rows, look.columns];
  const start = look.start + region.slice * (look.slices?.stride ?? 0);
  const many = outer[1] - outer[0];
  // only rows that the comb reaches
  const first = Math.max(outer[0], Math.floor((comb.start - start) / major.stride));
  const end = Math.min(outer[1], Math.floor((lastOf(comb) - start) / major.stride) + 1);
  const every = Math.max(1, Math.ceil(((end - first) * stretches) / most));
  const gaps = minor.stride !== 1;
  for (let row = first; row < end; row += every) {
    const line = Math.floor(((row - outer[0]) * lines) / many);
    const from = start + row * major.stride;
    const found = banded({ ...comb, start: comb.start - from }, scaled(inner, minor), stretches);
    const share = Math.min(every, end - row) / (gaps ? minor.stride : 1);
    for (let stretch = 0; stretch < stretches; stretch += 1) {
      const place = turned ? stretch * region.across + line : line * region.across + stretch;
      bins[place] = (bins[place] as number) + (found[stretch] as number) * share;
    }
  }
  return every > 1 || gaps;
}

function scaled([first, end]: readonly [number, number], { stride }: Axis): [number, number] {
  return [first * stride, end * stride];
}

/** How many of `size` rows or columns are in each of so many bins. */
export function binSizes(size: number, bins: number): Uint32Array {
  return Uint32Array.from(
    { length: bins },
    (_, bin) => Math.ceil(((bin + 1) * size) / bins) - Math.ceil((bin * size) / bins),
  );
}

/** Bins as fine as asked for: each has its share, by size, of what its coarse one has. */
function spread(counts: Float64Array, coarse: Region, fine: Region): Float64Array {
  if (coarse.down === fine.down && coarse.across === fine.across) return counts;
  const found = new Float64Array(fine.down * fine.across);
  const [tall, wide] = [fine.rows[1] - fine.rows[0], fine.columns[1] - fine.columns[0]];
  const [high, broad] = [binSizes(tall, coarse.down), binSizes(wide, coarse.across)];
  const [low, narrow] = [binSizes(tall, fine.down), binSizes(wide, fine.across)];
  for (let down = 0; down < fine.down; down += 1) {
    const row = Math.floor((down * coarse.down) / fine.down);
    const tallShare = (low[down] as number) / (high[row] as number);
    for (let across = 0; across < fine.across; across += 1) {
      const column = Math.floor((across * coarse.across) / fine.across);
      const share = (tallShare * (narrow[across] as number)) / (broad[column] as number);
      found[down * fine.across + across] = (counts[row * coarse.across + column] as number) * share;
    }
  }
  return found;
}
