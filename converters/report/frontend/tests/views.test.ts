import { describe, expect, test } from "vitest";

import type { Argument, RecordedValue } from "../src/data/types";
import { PixelColumns } from "../src/parts/timeline_columns";
import { realigned } from "../src/views/compare/realign";
import { lookAt, offsetAt, ownAxes, placeOf } from "../src/accesses/look";
import { npyOf, valuesOf } from "../src/accesses/values";

function tensor(shape: number[], strides: number[]): Argument {
  return { name: "x", dtype: "fp32", shape, strides } as unknown as Argument;
}

describe("a way of looking at a tensor", () => {
  test("finds each element where it put it", () => {
    const look = lookAt(ownAxes(tensor([2, 3, 4], [12, 4, 1]), 4, 24));
    for (let slice = 0; slice < 2; slice += 1)
      for (let row = 0; row < 3; row += 1)
        for (let column = 0; column < 4; column += 1)
          expect(placeOf(look, offsetAt(look, row, column, slice))).toEqual([row, column, slice]);
  });

  test("takes another shape of as many elements, and no other", () => {
    const asked = { axes: null, at: null };
    const x = ownAxes(tensor([6], [1]), 4, 6);
    expect(lookAt(x, { ...asked, shape: "2 x 3" }).axes.map(({ size }) => size)).toEqual([2, 3]);
    expect(lookAt(x, { ...asked, shape: "3 x 4" }).problem).toMatch(/6 elements/);
    expect(lookAt(ownAxes(tensor([2, 2], [3, 1]), 4, 6), { ...asked, shape: "4" }).problem).toMatch(
      /not contiguous/,
    );
  });
});

describe("values", () => {
  const recorded = (dtype: string, shape: number[], strides: number[]): RecordedValue => ({
    arg: 0,
    name: "x",
    artifact: "a",
    dtype,
    offset_bytes: 0,
    shape,
    strides,
    histogram: null,
    measured: true,
  });

  test.each([
    ["bf16", [0x80, 0x3f], 1],
    ["fp16", [0x00, 0xc0], -2],
    ["fp8e4nv", [0x7e], 448],
    ["fp8e5", [0x7c], Infinity],
    ["fp8e4b8", [0x80], NaN],
    ["i64", [255, 255, 255, 255, 255, 255, 255, 255], -1],
  ])("of %s are read from their bits", (dtype, bytes, value) => {
    const storage = Uint8Array.from(bytes).buffer;
    expect(valuesOf(recorded(dtype, [1], [1]), storage)?.at(0)).toBe(value);
    expect(valuesOf(recorded(dtype, [1], [1]), storage)?.at(8)).toBeNull();
  });

  test("go into a file in the order of their axes", () => {
    const file = npyOf(recorded("u8", [2, 3], [1, 2]), Uint8Array.of(1, 2, 3, 4, 5, 6).buffer);
    expect([...(file ?? []).slice(-6)]).toEqual([1, 3, 5, 2, 4, 6]);
    expect(npyOf(recorded("u8", [7], [1]), new ArrayBuffer(6))).toBeNull();
  });
});

describe("busy time", () => {
  test("is shared out over pixels, and no column is more than full", () => {
    const columns = new PixelColumns(5, 16, 10, 2);
    columns.spread(0.5, 2.5, 1, 20);
    columns.spread(3, 4, 0, 10);
    columns.spread(3, 4, 1, 30);
    columns.spread(4.5, 4.6, 1, 0.01);
    const parts: number[][] = [];
    columns.take((...part) => parts.push(part));
    expect(parts).toEqual([
      [0, 1, 0, 8],
      [1, 1, 0, 16],
      [2, 1, 0, 8],
      [3, 0, 0, 4],
      [3, 1, 4, 16],
      [4, 1, 0, 1],
    ]);
  });
});

describe("lines that differ", () => {
  test("in numbers that correspond to each other are beside each other", () => {
    const rows = realigned(
      [
        ["removed", 1, "x = 64", null, null],
        ["added", null, null, 1, "y = 2"],
        ["added", null, null, 2, "x = 128"],
      ],
      [["64", "128"]],
    );
    expect(rows.find((row) => row[2] === "x = 64")?.[4]).toBe("x = 128");
  });
});
