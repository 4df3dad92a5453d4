// Which programs and iterations access one place: the progressions are solved for it, so that the
// work is what is found and not what there is.

import type { Access } from "./blocks";
import { type Executions, isKnown, laneForms, placesWithin } from "./layout";

export interface Touch {
  readonly program: number | null;
  readonly iteration: number | null;
}

/** [how many, step of the address, of the program's number, of the iteration's]. */
type Step = readonly [count: number, bytes: number, program: number, iteration: number];

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
  const found = new Map<string, Touch>();
  let tries = MOST_TRIES;

  function add(program: number | null, iteration: number | null): void {
    if (wanted.program !== null && program !== wanted.program) return;
    if (wanted.iteration !== null && iteration !== null && iteration !== wanted.iteration) return;
    found.set(`${program} ${iteration}`, { program, iteration });
    if (found.size >= limit) tries = 0;
  }

  function solve(levels: readonly Step[], left: number, program: number, iteration: number): void {
    if (tries <= 0) return;
    tries -= 1;
    const level = levels.at(-1);
    if (!level) {
      if (left >= 0 && left < width)
        add(program < 0 ? null : program, iteration < 0 ? null : iteration);
      return;
    }
    const inner = levels.slice(0, -1);
    const [count, bytes, ofProgram, ofIteration] = level;
    const rest = inner.map(([times, step]) => (times - 1) * step);
    const [from, to] = placesWithin(count, bytes, rest, left - width + 1, left);
    // the same place again by the same execution is told once
    const last = bytes || ofProgram || ofIteration ? to : from;
    for (let at = from; at <= last; at += 1)
      solve(inner, left - at * bytes, program + at * ofProgram, iteration + at * ofIteration);
  }

  for (const access of accesses) {
    const { layout } = access;
    if (!layout || !isKnown(access)) continue;
    const [program, programs] = layout.programs ?? [access.program ?? -1, []];
    const [trip, trips] = layout.trips ?? [access.iteration ?? -1, []];
    const outer: Step[] = [
      ...programs.map(([count, id, bytes]): Step => [count, bytes, id, 0]),
      ...trips.map(([count, id, bytes]): Step => [count, bytes, 0, id]),
    ];
    for (const { start, levels } of laneForms(layout)) {
      const lanes = levels.map(([count, bytes]): Step => [count, bytes, 0, 0]);
      const steps = [...outer, ...lanes].filter(([count]) => count > 1);
      steps.sort((a, b) => Math.abs(a[1]) - Math.abs(b[1]));
      solve(steps, byte - layout.base - start, program, trip);
    }
  }
  return [...found.values()].sort((a, b) => (a.program ?? -1) - (b.program ?? -1));
}
