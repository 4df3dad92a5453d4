// Records of accesses, as docs/accesses.md has them, without listing a single address: sums of
// arithmetic progressions, of which the part that has some program, iteration or address is taken.

import type { Access, AccessLayout } from "../data/types";

/** An address and who accesses it; -1 where programs or iterations are not distinguished. */
export type Point = readonly [byte: number, program: number, iteration: number];
const AXES = { byte: 0, program: 1, iteration: 2 } as const;
type AxisName = keyof typeof AXES;

type Level = readonly [count: number, step: Point];

/** All points at + Σ i·step over i < count of each level. */
export interface Places {
  readonly at: Point;
  readonly levels: readonly Level[];
}

/** Which executions; null: all of them. */
export interface Executions {
  readonly program: number | null;
  readonly iteration: number | null;
}

export const ALL: Executions = { program: null, iteration: null };

/** Which lanes of the block: those that access, or all, those that the mask turns off among them. */
export type Lanes = "active" | "all";

/** Whether the record says which addresses were accessed. */
export function isKnown({ layout }: Access): boolean {
  return layout !== null && Boolean(layout.lanes ?? layout.runs) && layout.active !== null;
}

/** The executions of a record, each where its lanes count from. */
export function executionsOf({ layout, program, iteration }: Access): Places {
  const [firstProgram, programs] = layout?.programs ?? [program ?? -1, []];
  const [firstTrip, trips] = layout?.trips ?? [iteration ?? -1, []];
  return {
    at: [layout?.base ?? 0, firstProgram, firstTrip],
    levels: [
      ...programs.map(([count, id, bytes]): Level => [count, [bytes, id, 0]]),
      ...trips.map(([count, id, bytes]): Level => [count, [bytes, 0, id]]),
    ],
  };
}

/** The addresses of a record in the executions asked for; none where it does not say. */
export function placesOf(access: Access, wanted = ALL, lanes: Lanes = "active"): Places[] {
  const { layout } = access;
  if (!layout || !isKnown(access)) return [];
  const inside = lanePlaces(layout, lanes);
  return part(part([executionsOf(access)], "program", wanted), "iteration", wanted).flatMap(
    ({ at: [byte, ...ids], levels }) =>
      inside.map((lane) => ({
        at: [byte + lane.start, ...ids] as const,
        levels: [...levels, ...lane.levels],
      })),
  );
}

/** A record that does not distinguish executions matches any. */
function part(all: readonly Places[], axis: "program" | "iteration", wanted: Executions): Places[] {
  const id = wanted[axis];
  if (id === null) return [...all];
  return all.flatMap((places) =>
    places.at[AXES[axis]] < 0 && !reaches(places, axis) ? [places] : [...within(places, axis, id)],
  );
}

function reaches({ levels }: Places, axis: AxisName): boolean {
  return levels.some(([count, step]) => count > 1 && step[AXES[axis]] !== 0);
}

/** The part that lies between two ends along one axis; `budget`: steps of the search. */
export function* within(
  places: Places,
  name: AxisName,
  low: number,
  high = low,
  budget = { left: Infinity },
): Generator<Places> {
  const axis = AXES[name];
  const along = places.levels.filter(([, step]) => step[axis]);
  along.sort((a, b) => Math.abs(b[1][axis]) - Math.abs(a[1][axis]));
  const [level, ...inner] = along;
  if (!level) {
    if (places.at[axis] >= low && places.at[axis] <= high) yield places;
    return;
  }
  const rest = inner.map(([count, step]) => (count - 1) * step[axis]);
  const least = rest.reduce((sum, each) => sum + Math.min(0, each), places.at[axis]);
  const most = rest.reduce((sum, each) => sum + Math.max(0, each), places.at[axis]);
  const [count, step] = level;
  const ends = [(low - most) / step[axis], (high - least) / step[axis]];
  const levels = places.levels.filter((each) => each !== level);
  const last = Math.min(count - 1, Math.floor(Math.max(...ends)));
  for (let place = Math.max(0, Math.ceil(Math.min(...ends))); place <= last; place += 1) {
    if (--budget.left < 0) return;
    yield* within({ at: moved(places.at, step, place), levels }, name, low, high, budget);
  }
}

function moved([byte, program, iteration]: Point, step: Point, times: number): Point {
  return [byte + times * step[0], program + times * step[1], iteration + times * step[2]];
}

/** Visit the programs and iterations of some places, each as often as there are levels for it. */
export function eachExecution({ at, levels }: Places, visit: (at: Point) => void): void {
  const [level, ...inner] = levels.filter(([, [, program, iteration]]) => program || iteration);
  if (!level) return visit(at);
  for (let place = 0; place < level[0]; place += 1)
    eachExecution({ at: moved(at, level[1], place), levels: inner }, visit);
}

/** Most steps of the search for an address; an incomplete result is returned after them. */
const MOST_TRIES = 200_000;

/** The first few executions that access the bytes from `byte` to one before `byte + width`. */
export function touchesOf(
  accesses: readonly Access[],
  wanted: Executions,
  byte: number,
  width: number,
  limit: number,
): Executions[] {
  const found = new Map<string, Executions>();
  const budget = { left: MOST_TRIES };
  const known = (id: number): number | null => (id < 0 ? null : id);
  for (const places of accesses.flatMap((access) => placesOf(access, wanted)))
    for (const here of within(places, "byte", byte - width + 1, byte, budget))
      if (found.size < limit)
        eachExecution(here, ([, program, iteration]) =>
          found.set(`${program} ${iteration}`, {
            program: known(program),
            iteration: known(iteration),
          }),
        );
  const sorted = [...found.values()].sort((a, b) => (a.program ?? -1) - (b.program ?? -1));
  return sorted.slice(0, limit);
}

interface LanePlaces {
  /** Bytes from the execution's base. */
  readonly start: number;
  readonly levels: readonly Level[];
}

function lanePlaces(layout: AccessLayout, which: Lanes): LanePlaces[] {
  const along = (count: number, bytes: number): Level => [count, [bytes, 0, 0]];
  if (layout.runs)
    return layout.runs.map(([start, count, step, times, by]) => ({
      start,
      levels: [along(count, step), along(times, by)],
    }));
  const lanes = layout.lanes ?? [];
  const whole = lanes.map(([extent]) => [0, extent] as const);
  const ranges = which === "all" ? whole : (layout.box ?? whole);
  const boxes =
    which === "active" && layout.active
      ? layout.active.flatMap(([first, count]) => boxesOf(first, count, ranges))
      : [ranges];
  return boxes.map((box) => ({
    start: box.reduce((sum, [low], axis) => sum + low * (lanes[axis]?.[1] ?? 0), 0),
    levels: box.map(([low, high], axis) => along(high - low, lanes[axis]?.[1] ?? 0)),
  }));
}

type Box = readonly (readonly [first: number, end: number])[];

/** A run of lanes in row-major order as boxes: a partial row, whole rows, a partial row. */
function boxesOf(first: number, count: number, ranges: Box): Box[] {
  const [outer, ...inner] = ranges;
  if (!outer || count <= 0) return outer ? [] : [[]];
  const row = inner.reduce((size, [low, high]) => size * (high - low), 1);
  const found: Box[] = [];
  for (let [at, left] = [first, count]; left > 0;) {
    const [place, inRow] = [Math.floor(at / row), at % row];
    const rows = inRow === 0 ? Math.floor(left / row) : 0;
    const taken = rows ? rows * row : Math.min(left, row - inRow);
    const span = [outer[0] + place, outer[0] + place + Math.max(rows, 1)] as const;
    found.push(
      ...(rows ? [inner] : boxesOf(inRow, taken, inner)).map((box): Box => [span, ...box]),
    );
    at += taken;
    left -= taken;
  }
  return found;
}

/** How many lanes, active or not, one execution of a record has; null where it does not say. */
export function lanesOf({ layout }: Access): number | null {
  return layout?.lanes?.reduce((product, [extent]) => product * extent, 1) ?? null;
}

/** The greatest iteration of any record; null where none distinguishes iterations. */
export function lastIteration(accesses: readonly Access[]): number | null {
  const last = accesses.map(executionsOf).map(({ at, levels }) => {
    const reach = levels.map(([count, step]) => Math.max(0, (count - 1) * step[AXES.iteration]));
    return reach.reduce((sum, each) => sum + each, at[AXES.iteration]);
  });
  const most = Math.max(-1, ...last);
  return most < 0 ? null : most;
}
