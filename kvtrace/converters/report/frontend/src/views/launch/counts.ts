// How often each element is accessed. Up to 16 M elements each has a count; beyond it, counts of
// whole regions are worked out from the progressions, exactly where that takes few steps.

import type { Access } from "./blocks";
import { addComb, type Comb, combOf, costOf, countWithin, lastOf, totalOf } from "./comb";
import { ALL, type Executions, formsOf, type Lanes } from "./layout";
import { type Bins, type Region, regionCounts } from "./regions";
import type { Look } from "./tensor";

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

/** Elements of which each gets a count of its own. */
export const MOST_DENSE = 2 ** 24;
/** Steps that counting may take. */
const MOST_STEPS = 6e8;
/** Units beside the tensor that are counted one by one too. */
const BESIDE = 2 ** 16;

export function countsOf(
  { accesses, unit, width }: { accesses: readonly Access[]; unit: number; width: number },
  extent: number,
  wanted: Executions = ALL,
  lanes: Lanes = "active",
): Counts {
  const combs = accesses.flatMap((access) =>
    formsOf(access, wanted, lanes).map((form) => combOf(form, unit, width)),
  );
  const total = combs.reduce((sum, comb) => sum + totalOf(comb), 0);
  const inside = combs.reduce((sum, comb) => sum + countWithin(comb, 0, extent), 0);
  const first = combs.reduce((least, comb) => Math.min(least, comb.start), Infinity);
  const last = combs.reduce((most, comb) => Math.max(most, lastOf(comb)), -Infinity);
  // what one program touches is often little of a large tensor
  const low = combs.length ? Math.max(-BESIDE, first) : 0;
  const high = Math.max(low, Math.min(extent + BESIDE, last + 1));
  const plain = { combs, total, outside: total - inside, first, last };
  const cost = combs.reduce((sum, comb) => sum + costOf(comb), 0);
  if (high - low > MOST_DENSE + 2 * BESIDE || cost > MOST_STEPS) {
    return { ...plain, touched: null, most: null, dense: null };
  }
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
export function countAt(counts: Counts, offset: number): number {
  const { dense } = counts;
  if (dense && offset >= dense.low && offset < dense.low + dense.counts.length) {
    return dense.counts[offset - dense.low] ?? 0;
  }
  return counts.combs.reduce((sum, comb) => sum + countWithin(comb, offset, offset + 1), 0);
}

/** Accesses of each bin of a region. */
export function binsOf(counts: Counts, look: Look, region: Region): Bins {
  if (!counts.dense) return regionCounts(counts.combs, look, region);
  return { counts: denseBins(counts.dense, look, region), sampled: false };
}

function denseBins(
  dense: { readonly low: number; readonly counts: Uint32Array },
  look: Look,
  { slice, rows, columns, down, across }: Region,
): Float64Array {
  const bins = new Float64Array(down * across);
  const [height, width] = [rows[1] - rows[0], columns[1] - columns[0]];
  const start = look.start + slice * (look.slices?.stride ?? 0) - dense.low;
  const step = look.columns.stride;
  // which bin a column is in, once for all rows
  const bin = new Uint32Array(width);
  for (let column = 0; column < width; column += 1)
    bin[column] = Math.floor((column * across) / width);
  for (let row = 0; row < height; row += 1) {
    const line = Math.floor((row * down) / height) * across;
    let at = start + (rows[0] + row) * look.rows.stride + columns[0] * step;
    if (at >= dense.counts.length || at + width * step < 0) continue;
    for (let column = 0; column < width; column += 1, at += step) {
      const count = dense.counts[at];
      const place = line + (bin[column] as number);
      if (count) bins[place] = (bins[place] as number) + count;
    }
  }
  return bins;
}
