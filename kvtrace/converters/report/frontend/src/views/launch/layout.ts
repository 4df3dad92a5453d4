// Layouts of accesses, as docs/accesses.md has them, without listing a single address: sums of
// arithmetic progressions that can be cut to one program or trip, and counted.

import type { Access, IdLevel, Layout } from "./blocks";

/** Addresses start + Σ i·step over all i < count of each level, in bytes. */
export interface Form {
  readonly start: number;
  readonly levels: readonly Level[];
}

export type Level = readonly [count: number, step: number];

/** Which executions: null stands for all of them. */
export interface Executions {
  readonly program: number | null;
  readonly iteration: number | null;
}

export const ALL: Executions = { program: null, iteration: null };

/** Which lanes of the block: those that access, or all, those that the mask turns off among them. */
export type Lanes = "active" | "all";

/** Whether the record says which addresses were accessed. */
export function isKnown({ layout }: Access): boolean {
  return (
    layout !== null &&
    (layout.lanes !== undefined || Boolean(layout.runs)) &&
    layout.active !== null
  );
}

/** The addresses of a record in the executions asked for; none where it does not say. */
export function formsOf(access: Access, wanted: Executions, lanes: Lanes = "active"): Form[] {
  const { layout } = access;
  if (!layout || !isKnown(access)) return [];
  const programs = startsOf(layout.programs ?? [access.program ?? -1, []], wanted.program);
  const trips = startsOf(layout.trips ?? [access.iteration ?? -1, []], wanted.iteration);
  const inside = laneForms(layout, lanes);
  return programs.flatMap((program) =>
    trips.flatMap((trip) =>
      inside.map((lane) => ({
        start: layout.base + program.start + trip.start + lane.start,
        levels: [...program.levels, ...trip.levels, ...lane.levels],
      })),
    ),
  );
}

/** Where executions start: all of them as levels, or those with one id. An id of -1 fits any. */
function startsOf(
  [first, levels]: readonly [number, readonly IdLevel[]],
  wanted: number | null,
): Form[] {
  if (wanted === null || (first < 0 && !levels.length)) {
    return [{ start: 0, levels: levels.map(([count, , bytes]) => [count, bytes]) }];
  }
  return withId(levels, wanted - first);
}

function withId(levels: readonly IdLevel[], wanted: number): Form[] {
  const last = levels.at(-1);
  if (!last) return wanted === 0 ? [{ start: 0, levels: [] }] : [];
  const [count, id, bytes] = last;
  const inner = levels.slice(0, -1);
  if (id === 0)
    return withId(inner, wanted).map(({ start, levels }) => ({
      start,
      levels: [...levels, [count, bytes]],
    }));
  const rest = inner.map(([times, step]) => (times - 1) * step);
  const [from, to] = placesWithin(count, id, rest, wanted, wanted);
  const found: Form[] = [];
  for (let place = from; place <= to; place += 1)
    for (const { start, levels } of withId(inner, wanted - place * id))
      found.push({ start: start + place * bytes, levels });
  return found;
}

/** Places of a level from which inner levels, which add at most `rest`, can come to low … high. */
export function placesWithin(
  count: number,
  step: number,
  rest: readonly number[],
  low: number,
  high: number,
): [from: number, to: number] {
  if (step === 0) return [0, count - 1];
  const least = rest.reduce((sum, each) => sum + Math.min(0, each), 0);
  const most = rest.reduce((sum, each) => sum + Math.max(0, each), 0);
  const ends = [(low - most) / step, (high - least) / step];
  return [
    Math.max(0, Math.ceil(Math.min(...ends))),
    Math.min(count - 1, Math.floor(Math.max(...ends))),
  ];
}

/** The lanes of one execution, from its base. */
export function laneForms(layout: Layout, which: Lanes = "active"): Form[] {
  if (layout.runs) {
    return layout.runs.map(([start, count, step, times, by]) => ({
      start,
      levels: [
        [count, step],
        [times, by],
      ],
    }));
  }
  const lanes = layout.lanes ?? [];
  const whole = lanes.map(([extent]) => [0, extent] as const);
  const ranges = which === "all" ? whole : (layout.box ?? whole);
  const boxes =
    which === "active" && layout.active
      ? layout.active.flatMap(([first, count]) => boxesOf(first, count, ranges))
      : [ranges];
  return boxes.map((box) => {
    let start = 0;
    const levels = box.map(([low, high], axis): Level => {
      const stride = lanes[axis]?.[1] ?? 0;
      start += low * stride;
      return [high - low, stride];
    });
    return { start, levels };
  });
}

type Box = readonly (readonly [first: number, end: number])[];

/** A run of lanes in row-major order as boxes: a partial row, whole rows, a partial row. */
function boxesOf(first: number, count: number, ranges: Box): Box[] {
  const outer = ranges[0];
  if (!outer || count <= 0) return outer ? [] : [[]];
  const inner = ranges.slice(1);
  const row = inner.reduce((size, [low, high]) => size * (high - low), 1);
  const found: Box[] = [];
  let [at, left] = [first, count];
  while (left > 0) {
    const [place, within] = [Math.floor(at / row), at % row];
    const rows = within === 0 ? Math.floor(left / row) : 0;
    const taken = rows ? rows * row : Math.min(left, row - within);
    const span = [outer[0] + place, outer[0] + place + Math.max(rows, 1)] as const;
    const rest = rows ? [inner] : boxesOf(within, taken, inner);
    found.push(...rest.map((box) => [span, ...box]));
    at += taken;
    left -= taken;
  }
  return found;
}

/** How many executions a record describes. */
export function executionsOf({ layout }: Access): number {
  const levels = [...(layout?.programs?.[1] ?? []), ...(layout?.trips?.[1] ?? [])];
  return levels.reduce((product, [count]) => product * count, 1);
}

/** How many lanes, active or not, one execution of a record has; null where it does not say. */
export function lanesOf({ layout }: Access): number | null {
  if (!layout?.lanes) return null;
  return layout.lanes.reduce((product, [extent]) => product * extent, 1);
}

/** The ids of the programs of a record; each as often as it has levels for it. */
export function programsOf({ program, layout }: Access): Form {
  const [first, levels] = layout?.programs ?? [program ?? 0, []];
  return { start: first, levels: levels.map(([count, id]) => [count, id]) };
}

/** The greatest iteration of any record; null where none tells iterations apart. */
export function lastIteration(accesses: readonly Access[]): number | null {
  let last = -1;
  for (const { iteration, layout } of accesses) {
    const [first, levels] = layout?.trips ?? [iteration ?? -1, []];
    const most = levels.reduce((id, [count, step]) => id + Math.max(0, (count - 1) * step), first);
    last = Math.max(last, most);
  }
  return last < 0 ? null : last;
}
