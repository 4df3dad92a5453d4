// Executed ops of a call in chosen trips of its loops, and the memory in use at these ops.

import type { Trips } from "@report/accesses/trips";
import type { Sequence, Tile, Usage } from "../model";

export interface Moment {
  /** Orders of the executed ops, ascending. */
  readonly orders: readonly number[];
  /** Op index → number of executions. */
  readonly executions: ReadonlyMap<number, number>;
}

/** Returns the ops executed in the chosen trips of all chosen loops; null: of any program. */
export function momentOf(sequence: Sequence, trips: Trips, program: number | null): Moment {
  const fits = fittingIterations(sequence, trips);
  const orders = [...sequence.op.keys()].filter(
    (order) =>
      fits[sequence.iteration[order] ?? 0] === true &&
      (program === null || sequence.program[order] === program),
  );
  const executions = new Map<number, number>();
  for (const order of orders) {
    const op = sequence.op[order] ?? -1;
    executions.set(op, (executions.get(op) ?? 0) + 1);
  }
  return { orders, executions };
}

/**
 * Returns for each iteration whether all chosen loops are in their chosen trip. Iterations follow the
 * iterations around them, so one pass suffices.
 */
function fittingIterations({ loop, trip, around }: Sequence, trips: Trips): boolean[] {
  // Per iteration: the number of chosen trips that contain it; NaN if it is in a trip not chosen.
  const counts: number[] = [];
  return loop.map((index, iteration) => {
    const chosenTrip = trips.get(index);
    const outside = iteration === 0 ? 0 : (counts[around[iteration] ?? 0] ?? 0);
    const inside = chosenTrip === undefined ? 0 : chosenTrip === trip[iteration] ? 1 : NaN;
    counts.push(outside + inside);
    return outside + inside === trips.size;
  });
}

/** Returns first and last of each sequence of consecutive orders. */
export function stretchesOf(orders: readonly number[]): (readonly [first: number, last: number])[] {
  const stretches: [number, number][] = [];
  for (const order of orders) {
    const last = stretches.at(-1);
    if (last?.[1] === order - 1) last[1] = order;
    else stretches.push([order, order]);
  }
  return stretches;
}

/** Returns the tiles in use at some of the orders. */
export function tilesThen(tiles: readonly Tile[], { orders }: Moment): Tile[] {
  return tiles.filter(({ first, last }) => {
    const next = orders[firstFrom(orders, first)];
    return next !== undefined && next <= last;
  });
}

/** Returns the largest amount of a memory in use at one of the orders. */
export function mostThen({ orders: steps, amounts }: Usage, { orders }: Moment): number {
  return orders.reduce(
    (most, order) => Math.max(most, amounts[firstFrom(steps, order + 1) - 1] ?? 0),
    0,
  );
}

/** Returns the index of the first number that is at least `least`. */
function firstFrom(ascending: readonly number[], least: number): number {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ascending[middle] as number) < least) low = middle + 1;
    else high = middle;
  }
  return low;
}
