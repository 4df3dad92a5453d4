// Where tiles lie in a picture of a memory over time: each at the lowest place that is free from
// its first use to its last. A compiler may place them otherwise.

import type { Tile } from "../model";

export interface Placed {
  readonly tile: Tile;
  /** What lies below it, in the memory's unit. */
  readonly base: number;
}

export function placedTiles(tiles: readonly Tile[]): Placed[] {
  const order = [...tiles].sort((a, b) => a.first - b.first || a.number - b.number);
  const placed: Placed[] = [];
  let live: Placed[] = [];
  for (const tile of order) {
    live = live.filter((each) => each.tile.last >= tile.first);
    const found = { tile, base: lowestGap(live, tile.amount) };
    placed.push(found);
    live.push(found);
    live.sort((a, b) => a.base - b.base);
  }
  return placed;
}

/** The lowest place with room for so much, beside what lies there already. */
function lowestGap(live: readonly Placed[], amount: number): number {
  let base = 0;
  for (const each of live) {
    if (each.base - base >= amount) return base;
    base = Math.max(base, each.base + each.tile.amount);
  }
  return base;
}
