// Layouts of any form that the tracer writes, counted without listing, against a plain listing of
// docs/accesses.md: levels that overlap, steps back, boxes, runs and lanes that a mask leaves.

import { describe, expect, test } from "vitest";

import { binsOf, countAt, countsOf } from "../src/accesses/counts";
import { lookAt } from "../src/accesses/look";
import type { Access, AccessLayout } from "../src/data/types";

const UNIT = 4;

/** Numbers that look random, and are the same in every run: mulberry32. */
function numbersFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const FORMS = ["lanes", "box", "active", "runs"] as const;
type Level = readonly [count: number, id: number, bytes: number];

function layoutOf(form: (typeof FORMS)[number], seed: number, extent: number): AccessLayout {
  const random = numbersFrom(seed);
  const below = (low: number, high: number): number => low + Math.floor(random() * (high - low));
  const step = (): number => UNIT * ([0, 1, 1, 3, 16, 90, 1000, -1, -20][below(0, 9)] as number);
  const levels = (most: number): Level[] =>
    [1, 4, 20].slice(0, below(0, most)).map((id) => [below(2, 4), id, step()]);
  const layout: AccessLayout = {
    base: UNIT * below(0, extent),
    programs: [below(0, 3), levels(3)],
    trips: [below(-1, 1), levels(2)],
  };
  if (form === "runs") {
    const run = () => [step(), below(1, 9), step(), below(1, 4), step()] as const;
    return { ...layout, runs: [run(), run(), run()] };
  }
  const lanes = Array.from({ length: below(1, 4) }, () => [below(1, 7), step()] as const);
  if (form === "box") {
    const box = lanes.map(([most]) => {
      const low = below(0, most);
      return [low, below(low + 1, most + 1)] as const;
    });
    return { ...layout, lanes, box };
  }
  if (form === "lanes") return { ...layout, lanes };
  const all = lanes.reduce((many, [most]) => many * most, 1);
  const edges = [...new Set(Array.from({ length: 6 }, () => below(0, all + 1)))].sort(
    (a, b) => a - b,
  );
  const pairs = edges.slice(0, edges.length & ~1);
  const active = pairs.flatMap((low, at) =>
    at % 2 ? [] : [[low, (pairs[at + 1] as number) - low] as const],
  );
  return { ...layout, lanes, active };
}

/** Every byte offset of a layout, one by one. */
function listed(layout: AccessLayout): number[] {
  const shifts = (levels: readonly Level[] = []): number[] =>
    levels.reduce(
      (found, [count, , bytes]) =>
        found.flatMap((at) => Array.from({ length: count }, (_, i) => at + i * bytes)),
      [0],
    );
  const [programs, trips] = [shifts(layout.programs?.[1]), shifts(layout.trips?.[1])];
  const lanes = listedLanes(layout);
  return programs.flatMap((by) =>
    trips.flatMap((trip) => lanes.map((lane) => layout.base + by + trip + lane)),
  );
}

function listedLanes({ runs, lanes = [], box, active }: AccessLayout): number[] {
  if (runs) {
    return runs.flatMap(([first, count, step, times, by]) =>
      Array.from({ length: times * count }, (_, i) => {
        return first + Math.floor(i / count) * by + (i % count) * step;
      }),
    );
  }
  const ranges = box ?? lanes.map(([most]) => [0, most] as const);
  const all = lanes.reduce(
    (found, [, stride], axis) => {
      const [low, high] = ranges[axis] as readonly [number, number];
      return found.flatMap((at) =>
        Array.from({ length: high - low }, (_, i) => at + (low + i) * stride),
      );
    },
    [0],
  );
  return active ? active.flatMap(([first, count]) => all.slice(first, first + count)) : all;
}

function accessOf(layout: AccessLayout): Access {
  return { op: 1, arg: "x", program: null, iteration: null, first: 0, last: 0, active: 1, layout };
}

const SHAPES = [
  ["of which each element has a count", 60, 50, 60],
  ["of so many elements that regions have", 6000, 5000, 2],
] as const;

describe.each(SHAPES)("accesses of a tensor %s", (_, rows, columns, tries) => {
  const extent = rows * columns;
  const look = lookAt([
    { size: rows, stride: columns },
    { size: columns, stride: 1 },
  ]);

  test.each(FORMS)("are counted as they are listed: %s", (form) => {
    for (let seed = 1; seed <= tries; seed += 1) {
      const layouts = [layoutOf(form, seed, extent), layoutOf(form, seed + 1000, extent)];
      const counted = { accesses: layouts.map(accessOf), unit: UNIT, width: 1 };
      const elements = layouts.flatMap(listed).map((byte) => byte / UNIT);
      const inside = elements.filter((at) => at >= 0 && at < extent);

      const counts = countsOf(counted, extent);

      expect(counts.total, `seed ${seed}`).toBe(elements.length);
      expect(counts.outside, `seed ${seed}`).toBe(elements.length - inside.length);
      if (counts.touched !== null) expect(counts.touched).toBe(new Set(inside).size);
      const many = new Map<number, number>();
      for (const at of inside) many.set(at, (many.get(at) ?? 0) + 1);
      for (const [at, times] of many) expect(countAt(counts, at), `seed ${seed}`).toBe(times);

      const region = {
        slice: 0,
        rows: { first: 0, end: rows, bins: 16 },
        columns: { first: 0, end: columns, bins: 16 },
      };
      const expected = new Float64Array(16 * 16);
      for (const at of inside) {
        const down = Math.floor((Math.floor(at / columns) * 16) / rows);
        const across = Math.floor(((at % columns) * 16) / columns);
        expected[down * 16 + across] = (expected[down * 16 + across] ?? 0) + 1;
      }
      const bins = binsOf(counts, look, region);
      expect(bins.sampled, `seed ${seed}`).toBe(false);
      expect([...bins.counts], `seed ${seed}`).toEqual([...expected]);
    }
  });
});
