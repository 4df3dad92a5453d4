// Chosen trips of nested loops: at most one of each loop, of loops that lie inside each other.

import type { Access } from "../data/types";

/** Trips by the loops' places among the ops. */
export type Trips = ReadonlyMap<number, number>;

export interface Nested {
  readonly index: number;
  /** The loop around it. */
  readonly loop: number | null;
}

/** As the address has them: "16.0,17.1". */
export function tripsOf(text: string | null): Trips {
  const pairs = [...(text ?? "").matchAll(/(\d+)\.(\d+)/g)];
  return new Map(pairs.map(([, loop, trip]) => [Number(loop), Number(trip)]));
}

export function tripsText(trips: Trips): string | null {
  return [...trips].map(([loop, trip]) => `${loop}.${trip}`).join(",") || null;
}

/** Choose a trip, or all of a loop's; what is chosen of loops beside it is let go. */
export function withTrip(
  trips: Trips,
  loops: readonly Nested[],
  index: number,
  trip: number | null,
): Trips {
  const kept = loops.filter(
    (each) =>
      each.index !== index &&
      trips.has(each.index) &&
      (loopsAround(loops, index).includes(each.index) ||
        loopsAround(loops, each.index).includes(index)),
  );
  const found = new Map(kept.map((each) => [each.index, trips.get(each.index) ?? 0]));
  return trip === null ? found : found.set(index, trip);
}

/** A loop and those around it, the innermost first. */
export function loopsAround(loops: readonly Nested[], index: number | null): number[] {
  const own = loops.find((each) => each.index === index);
  return own ? [own.index, ...loopsAround(loops, own.loop)] : [];
}

/** Whether a record says in which trips of several loops it was. */
export function tellsTrips({ layout }: Access): boolean {
  return layout?.around !== undefined;
}

/** Whether a record may be of these trips; one that does not say may be of any. */
export function isInTrips({ layout }: Access, trips: Trips): boolean {
  return (layout?.around ?? []).every(([loop, trip]) => (trips.get(loop) ?? trip) === trip);
}
