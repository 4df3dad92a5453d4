// Counting without listing: a comb is a nested progression of places, with how often each comes.

import type { Places } from "./records";

/** Places start + Σ i·step, each `weight` times; steps are positive and grow from level to level. */
export interface Comb {
  readonly start: number;
  readonly weight: number;
  readonly levels: readonly (readonly [count: number, step: number])[];
  /** For each number of levels from 0 on: how far they reach, and how many places they make. */
  readonly reach: readonly number[];
  readonly places: readonly number[];
  readonly last: number;
  /** How many places there are, each counted as often as it comes. */
  readonly total: number;
}

/** Addresses in units of so many bytes; `width` units beside each other for each address. */
export function combOf({ at, levels: given }: Places, unit = 1, width = 1): Comb {
  let [start, weight] = [at[0] / unit, 1];
  const plain: [number, number][] = [];
  for (const [count, [bytes]] of [...given, [width, [unit]] as const]) {
    const step = bytes / unit;
    if (step === 0) weight *= count;
    else if (count > 1) plain.push([count, Math.abs(step)]);
    if (step < 0) start += (count - 1) * step;
  }
  const levels: [number, number][] = [];
  const [reach, places] = [[0], [1]];
  for (const [count, step] of plain.sort((a, b) => a[1] - b[1])) {
    const before = levels.at(-1);
    // a level that continues where the one before ends is merged into it
    if (before && before[0] * before[1] === step) before[0] *= count;
    else levels.push([count, step]);
  }
  for (const [count, step] of levels) {
    reach.push((reach.at(-1) ?? 0) + (count - 1) * step);
    places.push((places.at(-1) ?? 1) * count);
  }
  const last = start + (reach.at(-1) ?? 0);
  return { start, weight, levels, reach, places, last, total: weight * (places.at(-1) ?? 1) };
}

/** How many places lie in low ≤ place < high. */
export function countWithin(comb: Comb, low: number, high: number): number {
  const depth = comb.levels.length;
  const start = comb.start;
  return comb.weight * (below(comb, depth, high - start) - below(comb, depth, low - start));
}

/** Work grows with the levels that overlap, not with the places. */
function below(comb: Comb, depth: number, end: number): number {
  if (end <= 0) return 0;
  if (end > (comb.reach[depth] ?? 0)) return comb.places[depth] ?? 1;
  const [count, step] = comb.levels[depth - 1] ?? [1, 1];
  const [inner, many] = [comb.reach[depth - 1] ?? 0, comb.places[depth - 1] ?? 1];
  const whole = Math.min(Math.max(Math.ceil((end - inner) / step), 0), count);
  let found = whole * many;
  for (let place = whole; place < Math.min(Math.ceil(end / step), count); place += 1)
    found += below(comb, depth - 1, end - place * step);
  return found;
}

/** Steps that running sums take. */
function sumsCost({ levels, reach }: Comb): number {
  return 2 * Math.max(levels.length, 1) * ((reach.at(-1) ?? 0) + 1);
}

/** Steps that `addComb` takes at most, to decide beforehand whether to ask it. */
export function costOf(comb: Comb): number {
  return Math.min(comb.places.at(-1) ?? 1, sumsCost(comb));
}

/**
 * Add a comb to counts of the places from `low` on; places outside of them are ignored. One by one
 * where there are few; else by running sums, so that the work is the reach and not the places.
 */
export function addComb(counts: Uint32Array, low: number, comb: Comb): void {
  const offset = comb.start - low;
  const reach = comb.reach.at(-1) ?? 0;
  if ((comb.places.at(-1) ?? 1) < sumsCost(comb) || reach > 2 * counts.length) {
    addPlaces(counts, comb, comb.levels.length, offset);
    return;
  }
  // sums wrap at 2^32 and wrap back: what is left is exact below it
  const sums = new Uint32Array(reach + 1);
  sums[0] = comb.weight;
  comb.levels.forEach(([count, step], level) => {
    const end = comb.reach[level + 1] ?? 0;
    for (let at = step; at <= end; at += 1) bump(sums, at, sums[at - step] as number);
    const width = count * step;
    for (let at = end; at >= width; at -= 1) bump(sums, at, -(sums[at - width] as number));
  });
  const end = Math.min(reach, counts.length - 1 - offset);
  for (let at = Math.max(0, -offset); at <= end; at += 1)
    bump(counts, offset + at, sums[at] as number);
}

function addPlaces(counts: Uint32Array, comb: Comb, depth: number, at: number): void {
  const [count, step] = comb.levels[depth - 1] ?? [1, 1];
  // only what reaches into the counts is followed
  const from = Math.max(0, Math.ceil((-at - (comb.reach[depth - 1] ?? 0)) / step));
  const to = Math.min(count - 1, Math.floor((counts.length - 1 - at) / step));
  for (let place = from; place <= to; place += 1)
    if (depth > 1) addPlaces(counts, comb, depth - 1, at + place * step);
    else bump(counts, at + place * step, comb.weight);
}

/** Add to a place of an array. */
export function bump(counts: Uint32Array | Float64Array, place: number, by: number): void {
  counts[place] = (counts[place] as number) + by;
}
