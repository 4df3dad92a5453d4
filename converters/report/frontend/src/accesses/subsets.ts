// Which programs share which elements: elements that the same programs access are a subset.

import { addComb, costOf } from "./combs";
import { combsOf, type Counted, endsOf, MOST_DENSE } from "./counts";

export interface Subset {
  readonly programs: readonly number[];
  readonly elements: number;
}

export interface Subsets {
  readonly low: number;
  /** For each unit from `low` on a place in `subsets`, or 0 where no program goes. */
  readonly which: Uint32Array;
  /** The first is the empty subset: no program. */
  readonly subsets: readonly Subset[];
}

const MOST_PROGRAMS = 1024;
const MOST_STEPS = 1e8;
const MOST_SUBSETS = 65_536;

/** Null where there are too many programs or elements for it. */
export function subsetsOf(
  touched: Counted,
  programs: number,
  iteration: number | null,
): Subsets | null {
  if (programs > MOST_PROGRAMS) return null;
  const combs = Array.from({ length: programs }, (_, program) =>
    combsOf(touched, { program, iteration }),
  );
  const all = combs.flat();
  const [low, last] = endsOf(all);
  const cost = all.reduce((sum, comb) => sum + costOf(comb) + comb.last - comb.start, 0);
  if (!all.length || last - low >= MOST_DENSE || cost > MOST_STEPS) return null;
  const which = new Uint32Array(last - low + 1);
  // a subset is another one with one program more
  const known = [{ before: 0, program: -1 }];
  for (const [program, own] of combs.entries()) {
    if (!own.length) continue;
    const [start, end] = endsOf(own);
    const counts = new Uint32Array(end - start + 1);
    for (const comb of own) addComb(counts, start, comb);
    const grown = new Map<number, number>();
    counts.forEach((count, place) => {
      if (count === 0) return;
      const before = which[start - low + place] as number;
      const after = grown.get(before) ?? known.push({ before, program }) - 1;
      grown.set(before, after);
      which[start - low + place] = after;
    });
    if (known.length > MOST_SUBSETS) return null;
  }
  const sizes = new Uint32Array(known.length);
  for (const subset of which) sizes[subset] = (sizes[subset] as number) + 1;
  const members = (subset: number): number[] => {
    const own = known[subset];
    return own && subset ? [...members(own.before), own.program] : [];
  };
  return {
    low,
    which,
    subsets: [...sizes].map((elements, subset) => ({
      programs: elements ? members(subset) : [],
      elements: subset ? elements : 0,
    })),
  };
}
