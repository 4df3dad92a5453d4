// Accesses of whole regions of a tensor too large for a count of each element.
//
// Where every level of a comb goes either down or along a row, the counts are a product: so many in
// each band of rows times so many in each band of columns. Else each row's stretch is counted by
// itself, of evenly spread rows only where they are too many, which the caller is told.

import { type Comb, countBelow, lastOf, plainComb } from "./comb";
import type { Level } from "./layout";
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
const MOST_BINS = 256;

export function regionCounts(combs: readonly Comb[], look: Look, region: Region): Bins {
  const [down, across] = [Math.min(region.down, MOST_BINS), Math.min(region.across, MOST_BINS)];
  const coarse = { ...region, down, across };
  const found = { counts: new Float64Array(down * across), sampled: false };
  const most = MOST_STRETCHES / combs.length;
  for (const comb of combs) {
    const parts = separated(comb, look, region.slice);
    if (parts) addProduct(found.counts, parts, coarse);
    else if (addStretches(found.counts, comb, look, coarse, most)) found.sampled = true;
  }
  return { counts: spread(found.counts, coarse, region), sampled: found.sampled };
}

interface Parts {
  readonly rows: Comb;
  readonly columns: Comb;
}

/** A comb as rows times columns; null where it is none. */
function separated(comb: Comb, look: Look, slice: number): Parts | null {
  const [rows, columns] = [look.rows.stride, look.columns.stride];
  const [major, minor] = rows >= columns ? [rows, columns] : [columns, rows];
  const across = rows >= columns ? look.columns : look.rows;
  const at = comb.start - look.start - slice * (look.slices?.stride ?? 0);
  const first = Math.floor(at / major);
  const within = (at - first * major) / minor;
  const [outer, inner]: [Level[], Level[]] = [[], []];
  for (const [count, step] of comb.levels) {
    const row = step / major;
    if (Number.isInteger(row)) outer.push([count, row]);
    else if (!addInner(count, step, major, minor, outer, inner)) return null;
  }
  const reach = inner.reduce((sum, [count, step]) => sum + (count - 1) * step, within);
  if (!Number.isInteger(within) || reach >= across.size) return null;
  const parts = [plainComb(first, comb.weight, outer), plainComb(within, 1, inner)] as const;
  return rows >= columns
    ? { rows: parts[0], columns: parts[1] }
    : { rows: parts[1], columns: parts[0] };
}

/** A level that stays in a row, or that fills whole rows one after the other. */
function addInner(
  count: number,
  step: number,
  major: number,
  minor: number,
  outer: Level[],
  inner: Level[],
): boolean {
  const along = step / minor;
  if (!Number.isInteger(along)) return false;
  if ((count - 1) * step < major) {
    inner.push([count, along]);
    return true;
  }
  const inRow = major / step;
  if (!Number.isInteger(inRow) || count % inRow !== 0) return false;
  inner.push([inRow, along]);
  outer.push([count / inRow, 1]);
  return true;
}

function addProduct(bins: Float64Array, parts: Parts, region: Region): void {
  const rows = banded(parts.rows, region.rows, region.down);
  const columns = banded(parts.columns, region.columns, region.across);
  for (let down = 0; down < region.down; down += 1) {
    const many = rows[down] as number;
    if (!many) continue;
    for (let across = 0; across < region.across; across += 1) {
      const place = down * region.across + across;
      bins[place] = (bins[place] as number) + many * (columns[across] as number);
    }
  }
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
