// What a call did in chosen trips of its loops: which of the executed ops, and what was in use then.

import type { Trips } from "@report/accesses/trips";
import type { Sequence, Tile, Usage } from "../model";

export interface Moment {
  /** Executed ops by their order, ascending. */
  readonly orders: readonly number[];
  /** How often each op was executed, by its index. */
  readonly executions: ReadonlyMap<number, number>;
}

/** The executed ops that are inside of all chosen loops, in those trips; null program: any. */
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

/** An iteration comes after the one around it, so each is visited once. */
function fittingIterations({ loop, trip, around }: Sequence, trips: Trips): boolean[] {
  const found: number[] = [];
  return loop.map((index, place) => {
    const wanted = trips.get(index);
    const outside = place === 0 ? 0 : (found[around[place] ?? 0] ?? 0);
    // the number of chosen trips that it is inside of; NaN once it is in another trip of one
    const own = wanted === undefined ? 0 : wanted === trip[place] ? 1 : NaN;
    found.push(outside + own);
    return outside + own === trips.size;
  });
}

/** Orders that follow one another, as first and last. */
export function stretchesOf(orders: readonly number[]): (readonly [first: number, last: number])[] {
  const found: [number, number][] = [];
  for (const order of orders) {
    const last = found.at(-1);
    if (last?.[1] === order - 1) last[1] = order;
    else found.push([order, order]);
  }
  return found;
}

/** Tiles in use at some of the orders. */
export function tilesThen(tiles: readonly Tile[], { orders }: Moment): Tile[] {
  return tiles.filter(({ first, last }) => {
    const next = orders[firstFrom(orders, first)];
    return next !== undefined && next <= last;
  });
}

/** The most of a memory in use at one of the orders. */
export function mostThen({ orders: steps, amounts }: Usage, { orders }: Moment): number {
  return orders.reduce(
    (most, order) => Math.max(most, amounts[firstFrom(steps, order + 1) - 1] ?? 0),
    0,
  );
}

/** The place of the first number that is not below `least`. */
function firstFrom(ascending: readonly number[], least: number): number {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ascending[middle] as number) < least) low = middle + 1;
    else high = middle;
  }
  return low;
}
