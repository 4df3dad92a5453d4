// Which launches of the page a query asks for.

import type { Report, SliceColumns } from "../../data/types";
import { matches } from "../../parts/search";

export interface Wanted {
  readonly kernel: number | null;
  readonly phase: number | null;
  readonly track: number | null;
  readonly call: number | null;
  /** Shortest host time, in nanoseconds. */
  readonly least: number;
  /** Words that the kernel's name has, or the launch's number. */
  readonly words: string;
}

export function wantedLaunches(query: URLSearchParams): Wanted {
  const number = (name: string): number | null => {
    const text = query.get(name);
    return text === null || text === "" || Number.isNaN(Number(text)) ? null : Number(text);
  };
  return {
    kernel: number("kernel"),
    phase: number("phase"),
    track: number("track"),
    call: number("call"),
    least: (number("least") ?? 0) * 1000,
    words: query.get("q") ?? "",
  };
}

/** Rows of the columns; one pass over typed arrays, so that a million takes milliseconds. */
export function filteredLaunches(
  report: Report,
  launches: SliceColumns,
  wanted: Wanted,
): Uint32Array {
  const count = launches.seq.length;
  const found = new Uint32Array(count);
  const named = kernelsNamed(report, wanted.words);
  const seq = /^\d+$/.test(wanted.words.trim()) ? Number(wanted.words) : null;
  let length = 0;
  for (let row = 0; row < count; row += 1) {
    if (wanted.kernel !== null && launches.kernel[row] !== wanted.kernel) continue;
    if (wanted.phase !== null && launches.phase[row] !== wanted.phase) continue;
    if (wanted.track !== null && launches.track[row] !== wanted.track) continue;
    if (wanted.call !== null && launches.call[row] !== wanted.call) continue;
    if ((launches.duration[row] as number) < wanted.least) continue;
    if (named && !named[(launches.kernel[row] as number) + 1] && launches.seq[row] !== seq) continue;
    found[length] = row;
    length += 1;
  }
  return found.subarray(0, length);
}

/** For each kernel, from -1 on, whether its name has the words; null where none are asked for. */
function kernelsNamed(report: Report, words: string): boolean[] | null {
  if (!words.trim()) return null;
  return [false, ...report.kernels.map((kernel) => matches(words, kernel.name))];
}
