// Placement of tiles in the map of a memory over time, first fit: each tile gets the lowest base that
// is free from its first to its last use. A compiler may place tiles otherwise.

import type { Tile } from "../model";

export interface Placed {
  readonly tile: Tile;
  /** Amount below the tile, in the memory's unit. */
  readonly base: number;
}

export function placedTiles(tiles: readonly Tile[]): Placed[] {
  const order = [...tiles].sort((a, b) => a.first - b.first || a.number - b.number);
  const placed: Placed[] = [];
  let live: Placed[] = [];
  for (const tile of order) {
    live = live.filter((lower) => lower.tile.last >= tile.first);
    const placement = { tile, base: lowestGap(live, tile.amount) };
    placed.push(placement);
    live.push(placement);
    live.sort((a, b) => a.base - b.base);
  }
  return placed;
}

/** Returns the lowest base with room for an amount between the live tiles, sorted by base. */
function lowestGap(live: readonly Placed[], amount: number): number {
  let base = 0;
  for (const placed of live) {
    if (placed.base - base >= amount) return base;
    base = Math.max(base, placed.base + placed.tile.amount);
  }
  return base;
}
