// Where tiles lie in the picture of a memory.

import { describe, expect, test } from "vitest";

import type { Tile } from "../../../../kvtrace/addons/neuron/frontend/model";
import { placedTiles } from "../../../../kvtrace/addons/neuron/frontend/onchip/placing";

describe("tiles", () => {
  const tile = (number: number, first: number, last: number, amount: number): Tile =>
    ({ number, first, last, amount }) as Tile;

  test("lie beside each other while they live, and in the same place after", () => {
    const placed = placedTiles([tile(0, 0, 5, 10), tile(1, 2, 4, 5), tile(2, 6, 7, 15)]);
    expect(placed.map(({ base }) => base)).toEqual([0, 10, 0]);
  });
});
