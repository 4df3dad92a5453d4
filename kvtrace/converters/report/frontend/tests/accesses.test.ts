// Counting without listing, against a listing of every single address.

import { describe, expect, test } from "vitest";

import type { Access } from "../src/data/types";
import { lastIteration, type Places, placesOf, touchesOf } from "../src/accesses/records";
import { addComb, combOf, countWithin } from "../src/accesses/combs";
import { countAt, countsOf } from "../src/accesses/counts";

function listed({ at: [start], levels }: Places): number[] {
  return levels.reduce(
    (places, [count, [step]]) =>
      places.flatMap((at) => Array.from({ length: count }, (_, place) => at + place * step)),
    [start],
  );
}

function progressions(start: number, ...levels: [count: number, step: number][]): Places {
  return { at: [start, 0, 0], levels: levels.map(([count, step]) => [count, [step, 0, 0]]) };
}

/** Programs 0 to 2, four trips each, a block of 2 x 3 floats of which a mask keeps some rows. */
const ACCESS: Access = {
  op: 1,
  arg: "x",
  program: null,
  iteration: null,
  first: 8,
  last: 400,
  active: null,
  layout: {
    base: 8,
    programs: [0, [[3, 1, 64]]],
    trips: [0, [[4, 1, 16]]],
    lanes: [
      [2, 128],
      [3, 4],
    ],
  },
};

describe("a comb", () => {
  const forms = [
    progressions(0, [5, 4]),
    progressions(12, [3, -4], [2, 40]),
    progressions(4, [4, 0], [3, 8], [5, 4]),
    progressions(-16, [9, 4], [7, 20]),
  ];

  test.each(forms)("has the places of %o", (form) => {
    const comb = combOf(form, 4);
    const places = listed(form).map((byte) => byte / 4);
    const counts = new Uint32Array(80);
    addComb(counts, -10, comb);
    expect(comb.total).toBe(places.length);
    expect(comb.last).toBe(Math.max(...places));
    for (let at = -10; at < 70; at += 1) {
      const many = places.filter((place) => place === at).length;
      expect(counts[at + 10], `place ${at}`).toBe(many);
      expect(countWithin(comb, at, at + 1), `place ${at}`).toBe(many);
    }
  });
});

describe("a record", () => {
  const places = (program: number | null, iteration: number | null): number[] =>
    placesOf(ACCESS, { program, iteration }).flatMap(listed);

  test("of all executions is that of each of them", () => {
    const each = [0, 1, 2].flatMap((program) =>
      [0, 1, 2, 3].flatMap((iteration) => places(program, iteration)),
    );
    expect(places(null, null).sort()).toEqual(each.sort());
    expect(each).toHaveLength(3 * 4 * 6);
  });

  test("has no addresses of a program that it does not describe", () => {
    expect(places(3, null)).toEqual([]);
    expect(lastIteration([ACCESS])).toBe(3);
  });

  test("is counted element by element", () => {
    const counts = countsOf({ accesses: [ACCESS], unit: 4, width: 1 }, 60);
    const elements = places(null, null).map((byte) => byte / 4);
    expect(counts.total).toBe(elements.length);
    expect(counts.outside).toBe(elements.filter((at) => at >= 60).length);
    expect(counts.touched).toBe(new Set(elements.filter((at) => at < 60)).size);
    for (const at of new Set(elements)) {
      expect(countAt(counts, at)).toBe(elements.filter((other) => other === at).length);
    }
  });

  test("says who touches an element", () => {
    const all = { program: null, iteration: null };
    const byte = 8 + 128;
    const expected = [0, 1, 2].flatMap((program) =>
      [0, 1, 2, 3].flatMap((iteration) =>
        places(program, iteration).includes(byte) ? [{ program, iteration }] : [],
      ),
    );
    expect(touchesOf([ACCESS], all, byte, 4, 100)).toEqual(expected);
    expect(expected.length).toBeGreaterThan(1);
  });
});
