// Launches and what they caused on the device.

import { page } from "./page";

/** Launches are numbered from 0 in each run; beyond this a table of them would be too large. */
const MOST_NUMBERED = 50_000_000;

/** What is worked out once. */
export function once<T>(make: () => T): () => T {
  let known: T | undefined;
  return () => (known ??= make());
}

/** For each run, the row of `page.launches` by `seq`, or -1. */
const rowsBySeq = once(numberedRows);

/** For each row of `page.launches` the time of what it caused on the device; NaN: not known. */
export const launchDeviceTimes = once(() => {
  const times = new Float64Array(page.launches.seq.length).fill(NaN);
  page.device.launch.forEach((_, row) => {
    const launch = launchOf(row);
    if (launch !== null) times[launch] = (times[launch] || 0) + (page.device.duration[row] ?? 0);
  });
  return times;
});

/** The row of `page.launches` that caused a row of `page.device`; null if it is not on the page. */
export function launchOf(execution: number): number | null {
  const { device } = page;
  const seq = device.launch[execution] ?? -1;
  if (seq < 0) return null;
  const row = rowsBySeq().get(runOf(device.track[execution]))?.[seq] ?? -1;
  return row < 0 ? null : row;
}

/** The rows of `page.device` that a row of `page.launches` caused, in order of time. */
export function executionsOf(launch: number): number[] {
  const { first, following } = executionsByLaunch();
  const found: number[] = [];
  for (let row = first[launch] ?? -1; row >= 0; row = following[row] ?? -1) found.push(row);
  return found;
}

/** For each launch its first execution, and for each execution the next of its launch; or -1. */
const executionsByLaunch = once(() => {
  const first = new Int32Array(page.launches.seq.length).fill(-1);
  const following = new Int32Array(page.device.launch.length).fill(-1);
  for (let row = following.length - 1; row >= 0; row -= 1) {
    const launch = launchOf(row);
    if (launch === null) continue;
    following[row] = first[launch] as number;
    first[launch] = row;
  }
  return { first, following };
});

function numberedRows(): Map<number, Int32Array> {
  const { launches, report } = page;
  const highest = report.runs.map(() => -1);
  for (let row = 0; row < launches.seq.length; row += 1) {
    const run = runOf(launches.track[row]);
    highest[run] = Math.max(highest[run] ?? -1, launches.seq[row] as number);
  }
  const rows = new Map(
    highest.map((seq, run) => [run, new Int32Array(Math.min(seq + 1, MOST_NUMBERED)).fill(-1)]),
  );
  for (let row = 0; row < launches.seq.length; row += 1) {
    const own = rows.get(runOf(launches.track[row]));
    if (own) own[launches.seq[row] as number] = row;
  }
  return rows;
}

/** The run that a track belongs to, or -1. */
export function runOf(track: number | undefined): number {
  return page.report.tracks[track ?? -1]?.run ?? -1;
}
