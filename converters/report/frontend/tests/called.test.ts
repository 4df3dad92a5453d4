import { describe, expect, test } from "vitest";

import type { CalledBlock } from "../src/data/types";
import {
  boxesOf,
  calleesOf,
  callersOf,
  depthsOf,
  endsOf,
  measuresOf,
  namesakes,
  within,
} from "../src/views/called/tree";

/** all (10): a (6): a1 (4), a2 (2); b (4): b1 (4) */
const BLOCK: CalledBlock = {
  notes: [],
  parent: [-1, 0, 1, 1, 0, 4],
  label: ["all", "a", "a1", "a2", "b", "b1"],
  file: [null, null, null, null, null, null],
  line: [null, null, null, null, null, null],
  note: [null, null, null, null, null, null],
  kernel: [-1, -1, 0, 1, -1, 0],
  figures: {
    runs: [3, 2, 1, 1, 1, 1],
    device_ns: null,
    forward_ns: null,
    backward_ns: null,
    host_ns: [10, 6, 4, 2, 4, 4],
    bytes: null,
    compile_ns: [5, 0, 0, 0, 5, 5],
  },
};
const HOST = BLOCK.figures.host_ns ?? [];

describe("a tree of calls", () => {
  test("knows where each step ends and how deep it is", () => {
    expect(endsOf(BLOCK)).toEqual([6, 4, 3, 4, 6, 6]);
    expect(depthsOf(BLOCK)).toEqual([0, 1, 2, 2, 1, 2]);
  });

  test("has only the measures that were recorded, the first where none is named", () => {
    const [known, first] = measuresOf(BLOCK, null);
    expect(known.map(({ name }) => name)).toEqual(["host_ns", "runs", "compile_ns"]);
    expect(first.name).toBe("host_ns");
    expect(measuresOf(BLOCK, "compile_ns")[1].name).toBe("compile_ns");
    expect(measuresOf(BLOCK, "device_ns")[1].name).toBe("host_ns");
  });
});

describe("boxes", () => {
  test("lie below the box that they are part of, side by side", () => {
    const boxes = boxesOf(BLOCK, HOST, 0, 0.01);
    expect(boxes.map(({ step, depth }) => [step, depth])).toEqual([
      [0, 0],
      [1, 1],
      [2, 2],
      [3, 2],
      [4, 1],
      [5, 2],
    ]);
    expect(boxes.map(({ left }) => left)).toEqual([0, 0, 0, 0.4, 0.6, 0.6]);
    expect(boxes.map(({ width }) => width)).toEqual([1, 0.6, 0.4, 0.2, 0.4, 0.4]);
  });

  test("of one step fill the width with it", () => {
    const boxes = boxesOf(BLOCK, HOST, 1, 0.01);
    expect(boxes.map(({ step, left }) => [step, left])).toEqual([
      [1, 0],
      [2, 0],
      [3, 4 / 6],
    ]);
  });

  test("that are too narrow are left out, with all below them", () => {
    const compile = BLOCK.figures.compile_ns ?? [];
    expect(boxesOf(BLOCK, compile, 0, 0.01).map(({ step }) => step)).toEqual([0, 4, 5]);
    expect(boxesOf(BLOCK, [0, 0, 0, 0, 0, 0], 0, 0.01)).toHaveLength(1);
  });
});

/** all: f: g: f (recursive): k; h: g: k */
const AGAIN: CalledBlock = {
  ...BLOCK,
  parent: [-1, 0, 1, 2, 3, 0, 5, 6],
  label: ["all", "f", "g", "f", "k", "h", "g", "k"],
  file: [null, "a.py", "a.py", "a.py", null, "b.py", "a.py", null],
};

describe("a name over all its places", () => {
  test("counts once where it calls itself", () => {
    expect(namesakes(AGAIN, 3)).toEqual([1]);
    expect(namesakes(AGAIN, 2)).toEqual([2, 6]);
  });

  test("has callers and callees, with the steps that they share", () => {
    expect(callersOf(AGAIN, 7)).toEqual([
      { label: "f", first: 3, steps: [4] },
      { label: "g", first: 6, steps: [7] },
    ]);
    expect(calleesOf(AGAIN, 2)).toEqual([
      { label: "f", first: 3, steps: [3] },
      { label: "k", first: 7, steps: [7] },
    ]);
    expect(callersOf(AGAIN, 0)).toEqual([]);
  });

  test("is summed up without what is below another match", () => {
    const found = within(AGAIN, (step) => AGAIN.file[step] === "a.py");
    expect([...found.steps]).toEqual([1, 2, 3, 6]);
    expect(found.outermost).toEqual([1, 6]);
  });
});
