// Counting without listing: a comb is a nested progression of places, with how often each comes.

import type { Form, Level } from "./layout";

/** Places start + Σ i·step, each `weight` times; steps are positive and grow from level to level. */
export interface Comb {
  readonly start: number;
  readonly weight: number;
  readonly levels: readonly Level[];
  /** For each number of levels from 0 on: how far they reach, and how many places they make. */
  readonly reach: readonly number[];
  readonly places: readonly number[];
}

/** A form in units of so many bytes; `width` places beside each other for each address. */
export function combOf(form: Form, unit = 1, width = 1): Comb {
  let start = form.start / unit;
  let weight = 1;
  const plain: Level[] = [];
  for (const [count, step] of [...form.levels, [width, unit] as const]) {
    if (count === 1) continue;
    if (step === 0) {
      weight *= count;
      continue;
    }
    if (step < 0) start += ((count - 1) * step) / unit;
    plain.push([count, Math.abs(step) / unit]);
  }
  plain.sort((a, b) => a[1] - b[1]);
  const levels = joined(plain);
  const [reach, places] = [[0], [1]];
  for (const [count, step] of levels) {
    reach.push((reach.at(-1) ?? 0) + (count - 1) * step);
    places.push((places.at(-1) ?? 1) * count);
  }
  return { start, weight, levels, reach, places };
}

/** Levels of which each goes on where the one before ends are one. */
function joined(levels: readonly Level[]): Level[] {
  const found: Level[] = [];
  for (const [count, step] of levels) {
    const last = found.at(-1);
    if (last && last[0] * last[1] === step) found[found.length - 1] = [last[0] * count, last[1]];
    else found.push([count, step]);
  }
  return found;
}

/** How many places there are, each counted as often as it comes. */
export function totalOf(comb: Comb): number {
  return comb.weight * (comb.places.at(-1) ?? 1);
}

export function lastOf(comb: Comb): number {
  return comb.start + (comb.reach.at(-1) ?? 0);
}

/** How many places lie below `end`. Work grows with the levels that overlap, not with the places. */
export function countBelow(comb: Comb, end: number): number {
  return comb.weight * below(comb, comb.levels.length, end - comb.start);
}

function below(comb: Comb, depth: number, end: number): number {
  if (end <= 0) return 0;
  if (end > (comb.reach[depth] ?? 0)) return comb.places[depth] ?? 1;
  const [count, step] = comb.levels[depth - 1] ?? [1, 1];
  const [inner, many] = [comb.reach[depth - 1] ?? 0, comb.places[depth - 1] ?? 1];
  const whole = Math.min(Math.max(Math.ceil((end - inner) / step), 0), count);
  const started = Math.min(Math.ceil(end / step), count);
  let found = whole * many;
  for (let place = whole; place < started; place += 1) {
    found += below(comb, depth - 1, end - place * step);
  }
  return found;
}

/** How many places lie in low ≤ place < high. */
export function countWithin(comb: Comb, low: number, high: number): number {
  return countBelow(comb, high) - countBelow(comb, low);
}

/**
 * Add a comb to counts of the places from `low` on. One by one where there are few; else by running
 * sums, level by level, so that the work is the reach of the comb and not its places.
 */
export function addComb(counts: Uint32Array, low: number, comb: Comb): void {
  const reach = comb.reach.at(-1) ?? 0;
  const places = comb.places.at(-1) ?? 1;
  const inside = comb.start >= low && comb.start + reach < low + counts.length;
  if (!inside || places < 2 * comb.levels.length * reach) {
    addPlaces(counts, comb, comb.levels.length, comb.start - low);
    return;
  }
  // Sums wrap at 2^32 and wrap back: what is left is exact below it.
  const sums = new Uint32Array(reach + 1);
  sums[0] = comb.weight;
  comb.levels.forEach(([count, step], level) => {
    const end = comb.reach[level + 1] ?? 0;
    for (let at = step; at <= end; at += 1)
      sums[at] = (sums[at] as number) + (sums[at - step] as number);
    const width = count * step;
    for (let at = end; at >= width; at -= 1)
      sums[at] = (sums[at] as number) - (sums[at - width] as number);
  });
  const offset = comb.start - low;
  for (let at = 0; at <= reach; at += 1) {
    counts[offset + at] = (counts[offset + at] as number) + (sums[at] as number);
  }
}

/** Only branches that reach into the counts are followed. */
function addPlaces(counts: Uint32Array, comb: Comb, depth: number, at: number): void {
  if (depth === 0) {
    if (at >= 0 && at < counts.length) counts[at] = (counts[at] as number) + comb.weight;
    return;
  }
  const [count, step] = comb.levels[depth - 1] ?? [1, 1];
  const inner = comb.reach[depth - 1] ?? 0;
  const from = Math.max(0, Math.ceil((-at - inner) / step));
  const to = Math.min(count - 1, Math.floor((counts.length - 1 - at) / step));
  if (depth === 1) {
    for (let place = from; place <= to; place += 1) {
      const index = at + place * step;
      counts[index] = (counts[index] as number) + comb.weight;
    }
    return;
  }
  for (let place = from; place <= to; place += 1)
    addPlaces(counts, comb, depth - 1, at + place * step);
}

/** Steps that `addComb` takes at most, to decide beforehand whether to ask it. */
export function costOf(comb: Comb): number {
  const places = comb.places.at(-1) ?? 1;
  return Math.min(places, 2 * Math.max(comb.levels.length, 1) * ((comb.reach.at(-1) ?? 0) + 1));
}
