// Which programs and iterations access one place: the progressions are solved for it, so that the
// work is what is found and not what there is.

import type { Access, IdLevel } from "./blocks";
import { formsOf, isKnown, type Executions } from "./layout";

export interface Touch {
  readonly program: number | null;
  readonly iteration: number | null;
}

interface Step {
  readonly count: number;
  readonly bytes: number;
  readonly program: number;
  readonly iteration: number;
}

/** Steps of the search; a place that hides better is told as far as it was found. */
const MOST_TRIES = 200_000;

/** The first few executions that access the bytes from `byte` to one before `byte + width`. */
export function touchesOf(
  accesses: readonly Access[],
  wanted: Executions,
  byte: number,
  width: number,
  limit: number,
): Touch[] {
  const found: Touch[] = [];
  const search = { tries: MOST_TRIES };
  for (const access of accesses) {
    const { layout } = access;
    if (!layout || !isKnown(access)) continue;
    const programs = layout.programs ?? ([access.program ?? -1, []] as const);
    const trips = layout.trips ?? ([access.iteration ?? -1, []] as const);
    const outer = [...stepsOf(programs[1], "program"), ...stepsOf(trips[1], "iteration")];
    const lanes = formsOf({ ...access, layout: lanesOnly(layout) }, wanted);
    for (const lane of lanes) {
      const inner = lane.levels.map(([count, bytes]) => ({
        count,
        bytes,
        program: 0,
        iteration: 0,
      }));
      const levels = [...outer, ...inner].filter(({ count }) => count > 1);
      levels.sort((a, b) => Math.abs(a.bytes) - Math.abs(b.bytes));
      solve(
        levels,
        levels.length,
        byte - lane.start,
        width,
        programs[0],
        trips[0],
        (touch) => {
          if (wanted.program !== null && touch.program !== wanted.program) return;
          if (
            wanted.iteration !== null &&
            (touch.iteration ?? wanted.iteration) !== wanted.iteration
          )
            return;
          if (found.length < limit && !found.some((other) => same(other, touch))) found.push(touch);
          if (found.length >= limit) search.tries = 0;
        },
        search,
      );
    }
  }
  return found.toSorted((a, b) => (a.program ?? -1) - (b.program ?? -1));
}

function lanesOnly(layout: NonNullable<Access["layout"]>): NonNullable<Access["layout"]> {
  return { ...layout, programs: [-1, []], trips: [-1, []] };
}

function stepsOf(levels: readonly IdLevel[], of: "program" | "iteration"): Step[] {
  return levels.map(([count, id, bytes]) => ({
    count,
    bytes,
    program: of === "program" ? id : 0,
    iteration: of === "iteration" ? id : 0,
  }));
}

function same(a: Touch, b: Touch): boolean {
  return a.program === b.program && a.iteration === b.iteration;
}

function solve(
  levels: readonly Step[],
  depth: number,
  left: number,
  width: number,
  program: number,
  iteration: number,
  found: (touch: Touch) => void,
  search: { tries: number },
): void {
  if (search.tries <= 0) return;
  search.tries -= 1;
  const level = levels[depth - 1];
  if (!level) {
    if (left < 0 || left >= width) return;
    found({ program: program < 0 ? null : program, iteration: iteration < 0 ? null : iteration });
    return;
  }
  let [low, high] = [0, 0];
  for (let inner = 0; inner < depth - 1; inner += 1) {
    const { count, bytes } = levels[inner] as Step;
    low += Math.min(0, (count - 1) * bytes);
    high += Math.max(0, (count - 1) * bytes);
  }
  let [from, to] = [0, level.count - 1];
  if (level.bytes !== 0) {
    // what is left for the inner levels and the lane's own bytes has to be within their reach
    const ends = [(left - high - width + 1) / level.bytes, (left - low) / level.bytes];
    from = Math.max(0, Math.ceil(Math.min(...ends)));
    to = Math.min(to, Math.floor(Math.max(...ends)));
  } else if (level.program === 0 && level.iteration === 0) {
    to = 0; // the same place again by the same program
  }
  for (let place = from; place <= to; place += 1) {
    const next = left - place * level.bytes;
    const [by, at] = [program + place * level.program, iteration + place * level.iteration];
    solve(levels, depth - 1, next, width, by, at, found, search);
  }
}
