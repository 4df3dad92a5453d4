// Trips of nested loops in an address.

import { describe, expect, test } from "vitest";

import { loopsAround, tripsOf, tripsText, withTrip } from "../src/accesses/trips";

/** m around k, and n beside it: `for m: (for k: load, product); (for n: store)`. */
const LOOPS = [
  { index: 10, loop: null },
  { index: 11, loop: 10 },
  { index: 12, loop: 10 },
];

describe("chosen trips", () => {
  test("are written into the address and read back from it", () => {
    const trips = new Map([
      [10, 1],
      [11, 0],
    ]);
    expect(tripsText(trips)).toBe("10.1,11.0");
    expect(tripsOf("10.1,11.0")).toEqual(trips);
    expect(tripsOf("nothing")).toEqual(new Map());
    expect(tripsText(new Map())).toBeNull();
  });

  test("of a loop around stay, those of one beside go", () => {
    const chosen = tripsOf("10.1,11.2");
    expect(tripsText(withTrip(chosen, LOOPS, 10, 0))).toBe("11.2,10.0");
    expect(tripsText(withTrip(chosen, LOOPS, 12, 3))).toBe("10.1,12.3");
    expect(tripsText(withTrip(chosen, LOOPS, 11, null))).toBe("10.1");
  });

  test("know the loops around", () => {
    expect(loopsAround(LOOPS, 12)).toEqual([12, 10]);
    expect(loopsAround(LOOPS, null)).toEqual([]);
  });
});
