// Rows of one tree and of two side by side, and the lines between them.

import { describe, expect, test } from "vitest";

import {
  type Cell,
  indentOf,
  linesOf,
  MOST_ROWS,
  nodesOf,
  ROW,
  type Row,
  rowsOf,
} from "../../../../kvtrace/addons/invariance/frontend/invariance/layout";
import type { InvarianceNode } from "../../../../kvtrace/addons/invariance/frontend/model";

function node(text: string, parts: number[] = [], roles: string[] = [], kind = "op") {
  return { kind, text, stack: null, parts, roles } satisfies InvarianceNode;
}

/** "text" of each side of each row, or null; with "!" where trees part, "?" above, "+" alone. */
function said(nodes: readonly InvarianceNode[], rows: readonly Row[]) {
  const marks = { same: "", inside: "?", here: "!", alone: "+" };
  const one = (cell: Cell | null) => cell && `${nodes[cell.node]?.text}${marks[cell.state]}`;
  return rows.map(({ left, right }) => [one(left), one(right)]);
}

const SUM = [
  node("x", [], [], "load"),
  node("0", [], [], "number"),
  node("2 trips", [1, 0], ["first", "each trip"], "loop"),
  node("8 trips", [1, 0], ["first", "each trip"], "loop"),
  node("y", [2], [], "store"),
  node("y", [3], [], "store"),
];

describe("rows", () => {
  test("of one tree are its nodes, each below the one that it is a part of", () => {
    const rows = rowsOf(SUM, 4, null);

    expect(said(SUM, rows)).toEqual([
      ["y", null],
      ["2 trips", null],
      ["0", null],
      ["x", null],
    ]);
    expect(rows.map(({ left }) => [left?.depth, left?.above, left?.role])).toEqual([
      [0, -1, ""],
      [1, 0, ""],
      [2, 1, "first"],
      [2, 1, "each trip"],
    ]);
  });

  test("of two trees mark where they part, and what holds that", () => {
    expect(said(SUM, rowsOf(SUM, 4, 5))).toEqual([
      ["y?", "y?"],
      ["2 trips!", "8 trips!"],
      ["0", "0"],
      ["x", "x"],
    ]);
  });

  test("of one tree twice mark nothing", () => {
    const rows = rowsOf(SUM, 5, 5);

    expect(rows).toHaveLength(4);
    expect(rows.every(({ left, right }) => left?.state === "same" && right?.state === "same")).toBe(
      true,
    );
  });

  test("of trees that differ in their lines alone mark nothing", () => {
    const nodes = [
      node("x"),
      { ...node("x"), stack: 3 },
      node("exp", [0]),
      { ...node("exp", [1]), stack: 4 },
    ];

    expect(said(nodes, rowsOf(nodes, 2, 3))).toEqual([
      ["exp", "exp"],
      ["x", "x"],
    ]);
  });

  test("of a sum that is stored and one that is added go on below the root", () => {
    const nodes = [node("x"), node("y", [0], [], "store"), node("add to y", [0], [], "atomic")];

    expect(said(nodes, rowsOf(nodes, 1, 2))).toEqual([
      ["y!", "add to y!"],
      ["x", "x"],
    ]);
  });

  test("put what has no counterpart side by side", () => {
    const nodes = [
      node("x", [], [], "load"),
      node("exp", [0]),
      node("a loop", [1, 0], [], "loop"),
      node("y", [2], [], "store"),
      node("y", [1], [], "store"),
    ];

    expect(said(nodes, rowsOf(nodes, 3, 4))).toEqual([
      ["y?", "y?"],
      ["a loop!", "exp!"],
      ["exp+", "x+"],
      ["x+", null],
      ["x+", null],
    ]);
  });

  test("leave a part without a counterpart to its side", () => {
    const nodes = [node("x"), node("z"), node("f", [0]), node("f", [0, 1])];

    expect(said(nodes, rowsOf(nodes, 3, 2))).toEqual([
      ["f!", "f!"],
      ["x", "x"],
      ["z+", null],
    ]);
    expect(said(nodes, rowsOf(nodes, 2, 3))).toEqual([
      ["f!", "f!"],
      ["x", "x"],
      [null, "z+"],
    ]);
  });

  test("show parts that several nodes share once, and a node without parts each time", () => {
    const nodes = [node("x"), node("exp", [0]), node("mul", [1, 1]), node("add", [0, 2])];
    const rows = rowsOf(nodes, 3, null);

    expect(rows.map(({ left }) => [nodes[left?.node ?? -1]?.text, left?.again])).toEqual([
      ["add", false],
      ["x", false],
      ["mul", false],
      ["exp", false],
      ["x", false],
      ["exp", true],
    ]);
  });

  test("stay few where a tree doubles with each level", () => {
    const nodes = [node("x"), ...Array.from({ length: 60 }, (_, at) => node("add", [at, at]))];

    expect(rowsOf(nodes, 60, null)).toHaveLength(122 - 1);
    const long = [node("x"), ...Array.from({ length: 3000 }, (_, at) => node("exp", [at]))];
    expect(rowsOf(long, 3000, null)).toHaveLength(MOST_ROWS);
  });
});

describe("lines", () => {
  test("go from a node down to each of its parts", () => {
    const rows = rowsOf(SUM, 4, 5);
    const lines = [...linesOf(rows, "right").matchAll(/M(\d+) (\d+)V(\d+)H(\d+)/g)].map((match) =>
      match.slice(1).map(Number),
    );

    expect(lines).toHaveLength(rows.length - 1);
    rows.slice(1).forEach(({ right }, place) => {
      const [from, top, bottom, to] = lines[place] ?? [];
      const above = right?.above ?? -1;
      expect(Math.floor((top ?? -1) / ROW)).toBe(above);
      expect(Math.floor((bottom ?? -1) / ROW)).toBe(place + 1);
      expect(from).toBeGreaterThan(indentOf(rows[above]?.right as Cell));
      expect(to).toBeLessThan(indentOf(right as Cell));
      expect(to).toBeGreaterThan(from ?? Infinity);
    });
  });

  test("leave room for the text of deep nodes", () => {
    expect(indentOf({ depth: 1 })).toBeGreaterThan(indentOf({ depth: 0 }));
    expect(indentOf({ depth: 500 })).toBeLessThan(240);
  });
});

test("nodes of a tree are listed once, from its root", () => {
  expect(nodesOf(SUM, 4)).toEqual([4, 2, 1, 0]);
});
