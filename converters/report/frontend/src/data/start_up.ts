// What launches did before they could launch: compile their kernel, load it onto the device, tune it.

import { once, runOf } from "./executions";
import { page } from "./page";

/** Of one launch, or of several. */
export interface StartUp {
  /** Compiling; of a kernel that was in the compiler's cache, reading it. */
  compileNs: number;
  /** Whether all that is in `compileNs` came from the compiler's cache. */
  cached: boolean;
  loadNs: number;
  /** Launches that an autotuner or a warm-up made within it. */
  trials: number;
}

/** Phases of launches that an autotuner makes, or a warm-up. */
const TRIALS = ["autotune", "warmup"];

/** By row of `page.launches`; rows that neither compiled, loaded nor tuned are left out. */
export const startUps = once(startUpsByRow);

/** The sums over the launches of a call, by its place in the report's calls. */
export const startUpsOfCalls = once(() => {
  const sums = new Map<number, StartUp>();
  for (const [row, { compileNs, cached, loadNs, trials }] of startUps()) {
    const sum = entry(sums, page.launches.call[row] ?? -1);
    sum.compileNs += compileNs;
    sum.cached &&= cached;
    sum.loadNs += loadNs;
    sum.trials += trials;
  }
  return sums;
});

/** Nanoseconds that were not spent launching; of tuning they are not known. */
export function startUpNs(of: StartUp | undefined): number | null {
  return of ? of.compileNs + of.loadNs : null;
}

function entry(all: Map<number, StartUp>, key: number): StartUp {
  const each = all.get(key) ?? { compileNs: 0, cached: true, loadNs: 0, trials: 0 };
  all.set(key, each);
  return each;
}

function startUpsByRow(): ReadonlyMap<number, StartUp> {
  const { launches, report } = page;
  const rows = new Map<number, StartUp>();
  const isTrial = report.phases.map((name) => TRIALS.includes(name));
  // of each thread, the launch by the program that ended last
  const holding = new Map<number, number>();
  for (let row = 0; row < launches.seq.length; row += 1) {
    const track = launches.track[row] as number;
    const begin = launches.begin[row] as number;
    const end = begin + (launches.duration[row] as number);
    if (isTrial[launches.phase[row] ?? -1]) {
      const holder = holding.get(track);
      if (holder !== undefined && begin < endOf(holder)) entry(rows, holder).trials += 1;
    } else {
      holding.set(track, row);
    }
    const index = report.calls[launches.call[row] as number]?.variant;
    const variant = index === undefined ? undefined : report.variants[index];
    if (!variant || variant.run !== runOf(track)) continue;
    const within = (at: number | null): boolean => at !== null && begin <= at && at < end;
    if (within(variant.compile_begin)) {
      const start = entry(rows, row);
      start.compileNs += variant.compile_ns ?? 0;
      start.cached &&= variant.cache_hit === true;
    }
    if (within(variant.load_begin)) entry(rows, row).loadNs += variant.load_ns ?? 0;
  }
  return rows;
}

function endOf(row: number): number {
  const { begin, duration } = page.launches;
  return (begin[row] as number) + (duration[row] as number);
}
