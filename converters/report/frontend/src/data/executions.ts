// Launches and what they caused on the device.

import type { Page } from "./page";
import type { Report } from "./types";

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

/** The row of `page.launches` that caused a row of `page.device`; null if it is not on the page. */
export function launchOf(page: Page, execution: number): number | null {
  const { launches, device, report } = page;
  const [seq, run] = [device.launch[execution], runOf(report, device.track[execution])];
  if (seq === undefined || seq < 0) return null;
  for (let row = 0; row < launches.seq.length; row += 1) {
    if (launches.seq[row] === seq && runOf(report, launches.track[row]) === run) return row;
  }
  return null;
}

function runOf(report: Report, track: number | undefined): number | undefined {
  return report.tracks[track ?? -1]?.run;
}
