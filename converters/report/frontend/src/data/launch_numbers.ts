// A launch's number is that of the trace (`launches.seq`), which SQL and `kvtrace repro` take as well.

import { runOf } from "./executions";
import { page } from "./page";

/** How an address names a launch: "17", and "17@1" of the page's second run where it has several. */
export function launchNumber(row: number): string {
  const { launches, report } = page;
  const seq = String(launches.seq[row] ?? -1);
  return report.runs.length > 1 ? `${seq}@${String(runOf(launches.track[row]))}` : seq;
}

/** The row of `page.launches` that an address names, in the first run that has it; else null. */
export function launchRow(text: string | null): number | null {
  const { launches } = page;
  const named = /^(\d+)(?:@(\d+))?$/.exec(text ?? "");
  if (!named) return null;
  const seq = Number(named[1]);
  const run = named[2] === undefined ? null : Number(named[2]);
  for (let row = 0; row < launches.seq.length; row += 1) {
    if (launches.seq[row] === seq && (run === null || runOf(launches.track[row]) === run))
      return row;
  }
  return null;
}
