import { beforeEach, describe, expect, test, vi } from "vitest";

/** Launches of one thread: two by an autotuner within the third, as they return before it. */
const LAUNCHES = {
  seq: [0, 1, 2, 3, 4],
  begin: [100, 200, 300, 1000, 2000],
  duration: [900, 50, 50, 500, 500],
  kernel: [0, 0, 0, 0, 0],
  call: [0, 1, 1, 0, 1],
  track: [0, 0, 0, 0, 0],
  phase: [0, 1, 1, 0, 0],
};
const ROWS = { launches: LAUNCHES, device: {}, bins: {} };
const VARIANT = { run: 0, cache_hit: false, compile_ns: 300, load_ns: 20 };
const REPORT = {
  phases: ["run", "autotune"],
  tracks: [{ run: 0 }],
  calls: [{ variant: 0 }, { variant: 1 }],
  variants: [
    { ...VARIANT, compile_begin: 1000, load_begin: 1400 },
    { ...VARIANT, compile_begin: 10, load_begin: 240, cache_hit: true },
  ],
};

vi.mock("../src/data/page", () => ({ page: { ...ROWS, report: REPORT } }));

describe("what launches did before they launched", () => {
  let startUp: typeof import("../src/data/start_up");
  beforeEach(async () => {
    startUp = await import("../src/data/start_up");
  });

  test("is of the launch in which their kernel's compiling or loading began", () => {
    const all = [...startUp.startUps()].sort(([a], [b]) => a - b);
    expect(all).toEqual([
      [0, { compileNs: 0, cached: true, loadNs: 0, trials: 2 }],
      [1, { compileNs: 0, cached: true, loadNs: 20, trials: 0 }],
      [3, { compileNs: 300, cached: false, loadNs: 20, trials: 0 }],
    ]);
  });

  test("adds up by call", () => {
    expect(startUp.startUpsOfCalls().get(0)).toEqual({
      compileNs: 300,
      cached: false,
      loadNs: 20,
      trials: 2,
    });
    expect(startUp.startUpNs(startUp.startUpsOfCalls().get(1))).toBe(20);
    expect(startUp.startUpNs(undefined)).toBeNull();
  });
});
