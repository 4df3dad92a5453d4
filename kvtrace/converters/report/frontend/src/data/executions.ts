// Launches and what they caused on the device.

import type { Page } from "./page";
import type { Report } from "./types";

/** Launches are numbered from 0 in each run; beyond this a table of them would be too large. */
const MOST_NUMBERED = 50_000_000;

/** What is worked out of a page once. */
function kept<T>(make: (page: Page) => T): (page: Page) => T {
  const cache = new WeakMap<Page, T>();
  return (page) => {
    let known = cache.get(page);
    if (known === undefined) cache.set(page, (known = make(page)));
    return known;
  };
}

/** For each run, the row of `page.launches` by `seq`, or -1. */
const rowsBySeq = kept(numberedRows);

/** For each row of `page.launches` the time of what it caused on the device; NaN: not known. */
export const launchDeviceTimes = kept((page) => {
  const times = new Float64Array(page.launches.seq.length).fill(NaN);
  page.device.launch.forEach((_, row) => {
    const launch = launchOf(page, row);
    if (launch !== null) times[launch] = (times[launch] || 0) + (page.device.duration[row] ?? 0);
  });
  return times;
});

/** The row of `page.launches` that caused a row of `page.device`; null if it is not on the page. */
export function launchOf(page: Page, execution: number): number | null {
  const { device, report } = page;
  const seq = device.launch[execution] ?? -1;
  if (seq < 0) return null;
  const row = rowsBySeq(page).get(runOf(report, device.track[execution]))?.[seq] ?? -1;
  return row < 0 ? null : row;
}

/** The rows of `page.device` that a row of `page.launches` caused, in order of time. */
export function executionsOf(page: Page, launch: number): number[] {
  const { launches, device, report } = page;
  const [seq, run] = [launches.seq[launch], runOf(report, launches.track[launch])];
  const found: number[] = [];
  for (let row = 0; row < device.launch.length; row += 1) {
    if (device.launch[row] === seq && runOf(report, device.track[row]) === run) found.push(row);
  }
  return found;
}

function numberedRows({ launches, report }: Page): Map<number, Int32Array> {
  const highest = report.runs.map(() => -1);
  for (let row = 0; row < launches.seq.length; row += 1) {
    const run = runOf(report, launches.track[row]);
    highest[run] = Math.max(highest[run] ?? -1, launches.seq[row] as number);
  }
  const rows = new Map(
    highest.map((seq, run) => [run, new Int32Array(Math.min(seq + 1, MOST_NUMBERED)).fill(-1)]),
  );
  for (let row = 0; row < launches.seq.length; row += 1) {
    const own = rows.get(runOf(report, launches.track[row]));
    if (own) own[launches.seq[row] as number] = row;
  }
  return rows;
}

/** The run that a track belongs to, or -1. */
function runOf(report: Report, track: number | undefined): number {
  return report.tracks[track ?? -1]?.run ?? -1;
}
