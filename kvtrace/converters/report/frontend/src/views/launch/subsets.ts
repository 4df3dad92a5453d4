// Which programs share which elements: elements that the same programs access are a subset.

import { addComb, type Comb, combOf, costOf, lastOf } from "./comb";
import { MOST_DENSE } from "./counts";
import { formsOf } from "./layout";
import type { Touched } from "./scene";

export interface Subset {
  readonly programs: readonly number[];
  readonly elements: number;
}

export interface Subsets {
  readonly low: number;
  /** For each unit from `low` on a place in `subsets`, or 0 where no program goes. */
  readonly which: Uint32Array;
  /** The first stands for no program. */
  readonly subsets: readonly Subset[];
}

const MOST_PROGRAMS = 1024;
const MOST_STEPS = 1e8;
const MOST_SUBSETS = 65_536;

/** A subset is another one with one program more. */
interface Step {
  readonly before: number;
  readonly program: number;
}

/** Null where there are too many programs or elements for it. */
export function subsetsOf(
  touched: Touched,
  programs: number,
  iteration: number | null,
): Subsets | null {
  if (programs > MOST_PROGRAMS) return null;
  const { accesses, unit, width } = touched;
  const combs = Array.from({ length: programs }, (_, program) =>
    accesses.flatMap((access) =>
      formsOf(access, { program, iteration }).map((form) => combOf(form, unit, width)),
    ),
  );
  const all = combs.flat();
  const low = all.reduce((least, comb) => Math.min(least, comb.start), Infinity);
  const last = all.reduce((most, comb) => Math.max(most, lastOf(comb)), -Infinity);
  const cost = all.reduce((sum, comb) => sum + costOf(comb) + (comb.reach.at(-1) ?? 0), 0);
  if (!all.length || last - low >= MOST_DENSE || cost > MOST_STEPS) return null;
  const which = new Uint32Array(last - low + 1);
  const known: Step[] = [{ before: 0, program: -1 }];
  for (const [program, own] of combs.entries()) {
    if (own.length) addProgram({ low, which, known }, program, own);
    if (known.length > MOST_SUBSETS) return null;
  }
  const sizes = new Uint32Array(known.length);
  for (const subset of which) sizes[subset] = (sizes[subset] as number) + 1;
  const members = (subset: number): number[] => {
    const found: number[] = [];
    for (let at = subset; at > 0; at = known[at]?.before ?? 0) found.push(known[at]?.program ?? -1);
    return found.reverse();
  };
  return {
    low,
    which,
    subsets: known.map((_, subset) => ({
      programs: subset && sizes[subset] ? members(subset) : [],
      elements: subset ? (sizes[subset] ?? 0) : 0,
    })),
  };
}

interface Growing {
  readonly low: number;
  readonly which: Uint32Array;
  readonly known: Step[];
}

/** All elements of a subset that the program accesses go to one new subset. */
function addProgram({ low, which, known }: Growing, program: number, own: readonly Comb[]): void {
  const start = own.reduce((least, comb) => Math.min(least, comb.start), Infinity);
  const last = own.reduce((most, comb) => Math.max(most, lastOf(comb)), start);
  const counts = new Uint32Array(last - start + 1);
  for (const comb of own) addComb(counts, start, comb);
  const next = new Map<number, number>();
  counts.forEach((count, place) => {
    if (count === 0) return;
    const at = start - low + place;
    const before = which[at] as number;
    const after = next.get(before) ?? known.push({ before, program }) - 1;
    next.set(before, after);
    which[at] = after;
  });
}
