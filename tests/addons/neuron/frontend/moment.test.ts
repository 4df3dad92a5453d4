// What a call did in chosen trips of its loops, against a walk through every executed op.

import { describe, expect, test } from "vitest";

import { tripsOf } from "@report/accesses/trips";
import {
  momentOf,
  mostThen,
  stretchesOf,
  tilesThen,
} from "../../../../kvtrace/addons/neuron/frontend/onchip/moment";
import type { Sequence, Tile } from "../../../../kvtrace/addons/neuron/frontend/model";

const rows: { op: number; program: number; trips: Record<number, number>; at: number }[] = [];
const iterations = { loop: [-1], trip: [-1], around: [0] };

function begin(loop: number, trip: number, around: number): number {
  iterations.loop.push(loop);
  iterations.trip.push(trip);
  iterations.around.push(around);
  return iterations.loop.length - 1;
}

for (const program of [0, 1]) {
  rows.push({ op: 0, program, trips: {}, at: 0 });
  for (let m = 0; m < 3; m += 1) {
    const inM = begin(10, m, 0);
    for (let k = 0; k < 2; k += 1) {
      const at = begin(11, k, inM);
      for (const op of [1, 2]) rows.push({ op, program, trips: { 10: m, 11: k }, at });
    }
    for (let n = 0; n < 2; n += 1) {
      rows.push({ op: 3, program, trips: { 10: m, 12: n }, at: begin(12, n, inM) });
    }
  }
}

const SEQUENCE: Sequence = {
  op: rows.map(({ op }) => op),
  program: rows.map(({ program }) => program),
  iteration: rows.map(({ at }) => at),
  ...iterations,
};

describe("a moment", () => {
  test.each(["10.0", "10.2", "11.1", "12.0", "10.1,11.0", "10.1,12.1", "10.7", "11.0,12.0"])(
    "has the ops in trips %s, and no others",
    (text) => {
      for (const program of [null, 0, 1]) {
        const trips = tripsOf(text);
        const listed = [...rows.keys()].filter((order) => {
          const row = rows[order];
          const inside = [...trips].every(([loop, trip]) => row?.trips[loop] === trip);
          return inside && (program === null || row?.program === program);
        });
        const moment = momentOf(SEQUENCE, trips, program);
        expect(moment.orders).toEqual(listed);
        expect([...moment.executions.values()].reduce((all, each) => all + each, 0)).toBe(
          listed.length,
        );
      }
    },
  );

  test("is stretches of orders", () => {
    expect(stretchesOf([0, 1, 2, 5, 7, 8])).toEqual([
      [0, 2],
      [5, 5],
      [7, 8],
    ]);
  });

  test("has what is in use at its orders", () => {
    const tile = (number: number, first: number, last: number) =>
      ({ number, first, last }) as unknown as Tile;
    const moment = { orders: [4, 9], executions: new Map() };
    const tiles = [tile(0, 0, 3), tile(1, 0, 4), tile(2, 5, 8), tile(3, 5, 9), tile(4, 10, 11)];
    expect(tilesThen(tiles, moment).map(({ number }) => number)).toEqual([1, 3]);
    const usage = { space: "sbuf", unit: "bytes", limit: 9, peak: 8 };
    const steps = { orders: [0, 4, 5, 9, 10], amounts: [1, 2, 8, 3, 0] };
    expect(mostThen({ ...usage, ...steps }, moment)).toBe(3);
  });
});
