// Counting without listing, against a listing of every single address.

import { describe, expect, test } from "vitest";

import type { Access } from "../src/data/types";
import { lastIteration, type Places, placesOf, touchesOf } from "../src/accesses/records";
import { addComb, combOf, countWithin } from "../src/accesses/combs";
import { countAt, countsOf } from "../src/accesses/counts";
import { lookAt } from "../src/accesses/look";
import { tilesOf } from "../src/accesses/tiles";
import {
  lanesAlong,
  sectorsOf,
  warpAccess,
  warpEfficiency,
  warpOf,
  warpsOf,
} from "../src/accesses/warp";

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

describe("a program's tile", () => {
  const look = lookAt([
    { size: 30, stride: 32 },
    { size: 32, stride: 1 },
  ]);
  const counted = { accesses: [ACCESS], unit: 4, width: 1 };

  test("is the box of all that it accesses", () => {
    const tiles = tilesOf(counted, look, 0, 3, null) ?? [];
    expect(tiles.map(({ programs }) => programs)).toEqual([[0], [1], [2]]);
    for (const { programs, rows, columns } of tiles) {
      const [program = -1] = programs;
      const places = placesOf(ACCESS, { program, iteration: null }).flatMap(listed);
      const elements = places.map((byte) => byte / 4);
      const [down, across] = [
        elements.map((at) => Math.floor(at / 32)),
        elements.map((at) => at % 32),
      ];
      expect(rows).toEqual([Math.min(...down), Math.max(...down) + 1]);
      expect(columns).toEqual([Math.min(...across), Math.max(...across) + 1]);
    }
  });

  test("is whole lines where it runs on over the end of one", () => {
    const long: Access = {
      ...ACCESS,
      layout: { base: 40, programs: [0, [[2, 1, 400]]], lanes: [[100, 4]] },
    };
    const tiles = tilesOf({ ...counted, accesses: [long] }, look, 0, 2, null);
    expect(tiles).toEqual([
      { programs: [0], rows: [0, 4], columns: [0, 32] },
      { programs: [1], rows: [3, 7], columns: [0, 32] },
    ]);
  });

  test("of programs that access the same is one", () => {
    const shared: Access = {
      ...ACCESS,
      layout: { base: 0, programs: [0, [[4, 1, 0]]], lanes: [[8, 4]] },
    };
    const tiles = tilesOf({ ...counted, accesses: [shared] }, look, 0, 4, null);
    expect(tiles).toEqual([{ programs: [0, 1, 2, 3], rows: [0, 1], columns: [0, 8] }]);
    expect(tilesOf(counted, look, 0, 5000, null)).toBeNull();
  });
});

describe("a warp", () => {
  const strided: Access = { ...ACCESS, layout: { base: 0, lanes: [[64, 8]], box: [[0, 40]] } };

  test("moves whole sectors for what its lanes ask for", () => {
    const access = warpAccess([strided], { program: null, iteration: null });
    if (!access) throw new Error("no access");
    expect(warpsOf(access)).toBe(2);
    const warp = warpOf(access, 0, 0, 4, 0);
    expect([warp.lanes, warp.active, warp.asked, warp.sectors]).toEqual([32, 32, 128, 8]);
    expect(warp.lines.map(({ start }) => start)).toEqual([0, 128]);
    expect(warp.lines.map(sectorsOf)).toEqual([
      [16, 16, 16, 16],
      [16, 16, 16, 16],
    ]);
    expect([...(warp.lines[0]?.bytes.subarray(0, 4) ?? [])]).toEqual([4, 0, 4, 0]);
    const last = warpOf(access, 1, 0, 4, 0);
    expect([last.lanes, last.active, last.asked]).toEqual([32, 8, 32]);
  });

  test("begins its lines where the storage does", () => {
    const access = warpAccess([strided], { program: null, iteration: null });
    const warp = access && warpOf(access, 0, 0, 4, 100);
    expect(warp?.lines.map(({ start }) => start)).toEqual([-100, 28, 156]);
  });

  test("is that of the chosen execution, and of the first where none is", () => {
    const base = (program: number | null, iteration: number | null) =>
      warpAccess([ACCESS], { program, iteration })?.base;
    expect([base(null, null), base(2, null), base(1, 3), base(7, null)]).toEqual([
      8,
      8 + 128,
      8 + 64 + 48,
      undefined,
    ]);
  });

  test("goes along one axis of the block, and knows how well that does", () => {
    const access = warpAccess(
      [{ ...ACCESS, layout: { base: 0, lanes: [[32, 256], [1, 4], [64, 4]] } }], // prettier-ignore
      { program: null, iteration: null },
    );
    if (!access) throw new Error("no access");
    expect(lanesAlong(access)).toEqual([2, 0]);
    expect(warpOf(access, 0, 2, 4, 0).lines.map(({ start }) => start)).toEqual([0]);
    expect(warpOf(access, 1, 0, 4, 0).lines.length).toBe(32);
    expect(warpEfficiency(access, 2, 4, 0)).toBe(1);
    expect(warpEfficiency(access, 0, 4, 0)).toBe(1 / 8);
  });

  test("knows words that several lanes ask for", () => {
    const same: Access = { ...ACCESS, layout: { base: 4, lanes: [[16, 0]] } };
    const access = warpAccess([same], { program: null, iteration: null });
    const [line] = (access && warpOf(access, 0, 0, 4, 0).lines) ?? [];
    expect([line?.again[1], line?.lanes[1], line?.bytes[1], line?.again[0]]).toEqual([1, 16, 4, 0]);
  });
});
