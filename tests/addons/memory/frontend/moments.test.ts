// Rows of a storage's life, and what they say.

import { describe, expect, test } from "vitest";

import {
  boundText,
  leftOutText,
  momentsOf,
  namesOf,
  unwrittenText,
  useText,
} from "../../../../kvtrace/addons/memory/frontend/memory/moments";
import type {
  RunStorages,
  StorageLife,
  StorageUse,
} from "../../../../kvtrace/addons/memory/frontend/model";

const USE: StorageUse = {
  call: 0,
  by: "scaled",
  tensor: "x",
  count: 1,
  first: 20,
  last: 20,
  reads: 0,
  writes: 0,
  size: 4096,
  unwritten: 0,
  moves: false,
  reason: "",
};
const WRITE: StorageUse = { ...USE, writes: 4096 };
const READ: StorageUse = {
  ...USE,
  by: "torch.mm (first called at a.py:3)",
  first: 30,
  last: 50,
  reads: 4096,
};
const LIFE: StorageLife = {
  made: "torch.empty at a.py:1",
  is_seen: true,
  device: 0,
  bytes: 4096,
  alike: 1,
  at_peak: false,
  begin: 10,
  last_use: 50,
  end: null,
  replaced: false,
  uses: [WRITE, READ],
  uses_left_out: 0,
  findings: [],
};
const RUN: RunStorages = {
  run: 0,
  frees_recorded: false,
  devices: [],
  storages: [LIFE, { ...LIFE, begin: 90 }, { ...LIFE, bytes: 64 }],
  count: 9,
  kinds: 2,
  largest_left_out: 0,
};

function said(life: StorageLife) {
  return momentsOf(life).map(({ at, what, detail }) => `${at} ${what}${detail && ` (${detail})`}`);
}

describe("life", () => {
  test("is allocated, used in order, and last used where no free was recorded", () => {
    expect(said(LIFE)).toEqual([
      "10 allocated (torch.empty at a.py:1)",
      "20 written",
      "30 read",
      "50 last used (by torch.mm; its free was not recorded)",
    ]);
  });

  test("ends with its free where that was recorded", () => {
    expect(said({ ...LIFE, end: 60 }).at(-1)).toBe("60 freed (last used by torch.mm)");
  });

  test("says that its memory was another's later, and not by whom if nobody is known", () => {
    expect(said({ ...LIFE, uses: [], replaced: true })).toEqual([
      "10 allocated (torch.empty at a.py:1)",
      "50 last used (its free was not recorded, and its memory was another storage's later)",
    ]);
  });

  test("of a storage that nothing recorded made begins where it was seen first", () => {
    expect(said({ ...LIFE, is_seen: false })[0]).toBe("10 first seen (torch.empty at a.py:1)");
  });
});

describe("use", () => {
  test.each([
    [{ reads: 4096 }, "read"],
    [{ reads: 4096, moves: true }, "copied"],
    [{ writes: 4096 }, "written"],
    [{ reads: 4096, writes: 2048 }, "read, then written: 2 KiB of 4 KiB"],
    [{ writes: 0, reads: null }, "perhaps read"],
    [{ reads: null, writes: null }, "perhaps read, then perhaps written"],
    [{ writes: 4_194_300, size: 4_194_304 }, "written: 4,194,300 of 4,194,304 B"],
  ])("%o is %s", (changed, text) => {
    expect(useText({ ...USE, ...changed })).toBe(text);
  });

  test("says how much of what it reads nobody wrote", () => {
    expect(unwrittenText({ ...READ, unwritten: 128 })).toBe("128 B of it nobody wrote");
    expect(unwrittenText(READ)).toBe("");
  });
});

describe("storages", () => {
  test("name who wrote and read them once, without places; who perhaps did counts", () => {
    const life = { ...LIFE, uses: [WRITE, READ, { ...READ, writes: null }, WRITE] };
    expect(namesOf(life, "writes")).toEqual(["scaled", "torch.mm"]);
    expect(namesOf(life, "reads")).toEqual(["torch.mm"]);
  });

  test("name generated kernels by the begin of their names", () => {
    const uses = [{ ...WRITE, by: `triton_${"fused_".repeat(20)}` }];
    expect(namesOf({ ...LIFE, uses }, "writes")).toEqual(["triton_fused_fused_fused_fused_fused…"]);
  });

  test("that are left out are counted by kinds", () => {
    expect(leftOutText(RUN)).toBe("");
    expect(leftOutText({ ...RUN, kinds: 5, largest_left_out: 32 })).toBe(
      "3 further kinds of storages, each of at most 32 B, not shown.",
    );
  });

  test("in use are a lower bound unless frees were recorded", () => {
    expect(boundText(RUN)).toContain("at least this much");
    expect(boundText({ ...RUN, frees_recorded: true })).not.toContain("at least");
  });
});
