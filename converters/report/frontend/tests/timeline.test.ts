import { describe, expect, test } from "vitest";

import { SliceTree } from "../src/parts/timeline_tree";

/** Slices of a row as they come from a trace: most are short, some last long, some begin at once. */
function slices(count: number) {
  let state = 7;
  const random = (below: number): number => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor((state / 2147483648) * below);
  };
  const begin = Float64Array.from({ length: count }, () => random(20 * count)).sort();
  const end = begin.map((time) => time + (random(50) ? random(30) : random(4000)));
  const keys = Array.from({ length: count }, () => random(40) - 1);
  return { count, begin, end, keys };
}

/** Counts and times by key of the slices that reach into a range, found one by one. */
function sums({ begin, end, keys }: ReturnType<typeof slices>, from: number, to: number) {
  const found = new Map<number, [number, number]>();
  keys.forEach((key, index) => {
    const [first, last] = [begin[index] as number, end[index] as number];
    if (first >= to || last < from) return;
    const [number, busy] = found.get(key) ?? [0, 0];
    found.set(key, [number + 1, busy + last - first]);
  });
  return found;
}

describe("groups of slices", () => {
  const row = slices(5000);
  const tree = new SliceTree(row, (index) => row.keys[index] as number, 40);
  const ranges = [
    [-1, 200_000],
    [0, 100_000],
    [40_123, 41_000],
    [50_000, 50_001],
    [99_000, 150_000],
  ] as const;

  test.each(ranges)("sum up to the single slices from %d to %d", (begin, end) => {
    for (const detail of [0, 100, 5000, Infinity]) {
      const found = new Map<number, [number, number]>();
      tree.each({ begin, end }, detail, false, (_from, _to, key, count, busy) => {
        const [number, time] = found.get(key) ?? [0, 0];
        found.set(key, [number + count, time + busy]);
      });
      const byKey = (pairs: Map<number, unknown>): unknown[] =>
        [...pairs].sort((one, other) => one[0] - other[0]);
      expect(byKey(found)).toEqual(byKey(sums(row, begin, end)));
    }
  });

  test("are visited in place of their slices where they are short", () => {
    const visits = (detail: number): number => {
      let number = 0;
      tree.each(
        { begin: -1, end: 200_000 },
        detail,
        false,
        (from, to, _key, count, _busy, index) => {
          number += 1;
          if (index < 0) expect(to - from).toBeLessThanOrEqual(detail);
          else expect([from, to, count]).toEqual([row.begin[index], row.end[index], 1]);
        },
      );
      return number;
    };
    expect(visits(0)).toBe(row.count);
    expect(visits(Infinity)).toBeLessThan(1000);
  });

  test("have the keys with most time, and all others together, where that is asked for", () => {
    const found = new Map<number, number>();
    const range = { begin: -1, end: 200_000 };
    tree.each(range, Infinity, true, (_from, _to, key, _count, busy) => {
      found.set(key, (found.get(key) ?? 0) + busy);
    });
    const all = [...sums(row, -1, 200_000)];
    const total = all.reduce((sum, [, [, busy]]) => sum + busy, 0);
    expect([...found.values()].reduce((sum, busy) => sum + busy, 0)).toBe(total);
    expect(found.get(-1)).toBeGreaterThan(Math.max(...all.map(([, [, busy]]) => busy)));
  });

  test("of nothing are nothing", () => {
    const none = { count: 0, begin: new Float64Array(0), end: new Float64Array(0) };
    const visit = (): never => {
      throw new Error("visited");
    };
    new SliceTree(none, () => 0, 1).each({ begin: 0, end: 1 }, 0, false, visit);
  });
});
