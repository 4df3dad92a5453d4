import { describe, expect, test } from "vitest";

import * as format from "../src/data/format";
import { sortedRows } from "../src/parts/sort";

describe("figures", () => {
  test.each([
    [format.formatBytes, 0, "0 B"],
    [format.formatBytes, 1536, "1.50 KiB"],
    [format.formatBytes, 4096, "4 KiB"],
    [format.formatNanoseconds, 24, "24 ns"],
    [format.formatNanoseconds, -2_500, "−2.50 µs"],
    [format.formatNanoseconds, 16_000_000, "16.0 ms"],
    [format.formatNanoseconds, 99_960_000, "100 ms"],
    [format.formatNanoseconds, 3_725e9, "1 h 2 min 5 s"],
    [format.formatFlops, 123_456, "123 kFLOP"],
    [format.formatCount, 1_234_567, "1,234,567"],
    [format.formatPart, 0.1234, "12.3 %"],
    [format.formatPart, 0.00279, "0.279 %"],
    [format.formatPart, 0.03004, "3.00 %"],
    [format.formatPart, 1, "100 %"],
    [format.formatMoment, 1_234_567, "1.2346 ms"],
    [format.formatNumber, 0.000123456, "0.000123"],
  ])("%o of %d is %s", (show, value, text) => {
    expect(show(value)).toBe(text);
  });

  test.each([
    format.formatBytes,
    format.formatCount,
    format.formatFlops,
    format.formatMoment,
    format.formatNanoseconds,
    format.formatNumber,
    format.formatPart,
  ])("%o says of what is not known that it is not, and no zero", (show) => {
    expect([show(null), show(undefined)]).toEqual([format.UNKNOWN, format.UNKNOWN]);
  });

  test("a share of nothing is not known", () => {
    expect(format.formatShare(1, 0)).toBe(format.UNKNOWN);
  });

  test("a sum leaves out what is not known, and is not known of nothing", () => {
    expect(format.sumKnown([1, null, 2])).toBe(3);
    expect(format.sumKnown([null])).toBeNull();
  });

  test("a grid leaves trailing ones out", () => {
    expect(format.formatGrid([4, 1, 1])).toBe("4");
    expect(format.formatGrid([4, 1, 2])).toBe("4 × 1 × 2");
    expect(format.gridSize([4, null, 2])).toBe(8);
  });
});

describe("text of the trace", () => {
  test("that deceives is spelt out", () => {
    expect(format.plainText("a\u202eb")).toBe("a⟨U+202E⟩b");
  });

  test("that is long says how long", () => {
    expect(format.shortText("abcdef", 3)).toBe("abc… (6 characters)");
  });

  test("names a place by its file's last part", () => {
    expect(format.formatPlace("/a/b.py", 7)).toBe("b.py:7");
    expect(format.formatPlace(null, 7)).toBe(format.UNKNOWN);
  });
});

describe("rows", () => {
  const rows = [{ key: 2 }, { key: null }, { key: 10 }, { key: 2 }];
  const keys = (direction: "ascending" | "descending") =>
    Array.from(
      sortedRows(rows, ({ key }) => key, direction),
      ({ key }) => key,
    );

  test("that are not known come last both ways", () => {
    expect(keys("ascending")).toEqual([2, 2, 10, null]);
    expect(keys("descending")).toEqual([10, 2, 2, null]);
  });

  test("that are equal keep their order", () => {
    const sorted = Array.from(sortedRows(rows, ({ key }) => key, "descending"));
    expect([sorted[1], sorted[2]]).toEqual([rows[0], rows[3]]);
    expect(sorted[1]).toBe(rows[0]);
  });

  test("of indices stay a typed array", () => {
    const sorted = sortedRows(Uint32Array.of(5, 7, 6), (row) => row, "descending");
    expect(sorted).toEqual(Uint32Array.of(7, 6, 5));
  });
});
