// Which lines of a text are left out at first: source without compiled code, tables of locations.

import type { Kernel, SourceFile } from "../../data/types";
import type { Fold } from "../../parts/code";

/** Lines that stay around a line that is shown. */
const CONTEXT = 3;
/** Shorter gaps stay: a fold takes a line itself. */
const LEAST_FOLDED = 4;
/** Lines of a kernel that are shown at least. */
const UNLINKED = 12;
/** A file that nothing points into is shown whole up to this many lines. */
const MOST_WHOLE = 200;

/** Folds of a source file: all but the kernel from its head on, and lines that became code. */
export function sourceFolds(
  text: string,
  file: SourceFile,
  kernel: Kernel,
  linked: Iterable<number>,
): Fold[] {
  const lines = text.split("\n");
  const shown = new Uint8Array(lines.length);
  const show = (from: number, to: number): void => {
    shown.fill(1, Math.max(from, 0), Math.max(Math.min(to, lines.length), 0));
  };
  const places = [...linked].map((line) => line - file.first_line);
  for (const place of places) show(place - CONTEXT, place + CONTEXT + 1);
  if (file.path === kernel.file && kernel.line !== null) {
    const head = kernel.line - file.first_line;
    // a kernel of which nothing is known ends somewhere
    show(head - CONTEXT, Math.max(head + UNLINKED, ...places.filter((each) => each > head)) + 1);
  }
  if (!shown.includes(1) && lines.length <= MOST_WHOLE) shown.fill(1);
  return foldsWhere(lines.length, (index) => !shown[index]);
}

const LOCATION_LINE = /^#\w+ = loc\(|^!\d+ = /;

/** Folds of a compiler stage: the lines that only say where others come from. */
export function stageFolds(text: string): Fold[] {
  const lines = text.split("\n");
  return foldsWhere(lines.length, (index) => LOCATION_LINE.test(lines[index] ?? ""));
}

const LOCATION = / loc\((?:#\w+|unknown|"[^"]*"\(#\w+\)|callsite\(#\w+ at #\w+\))\)|, !dbg !\d+/g;

/** A stage's text without locations inside its lines; it has as many lines. */
export function withoutLocations(text: string): string {
  return text.replace(LOCATION, "");
}

function foldsWhere(count: number, hidden: (index: number) => boolean): Fold[] {
  const folds: Fold[] = [];
  for (let from = 0; from < count;) {
    let to = from;
    while (to < count && hidden(to) === hidden(from)) to += 1;
    if (hidden(from) && to - from >= LEAST_FOLDED) folds.push([from + 1, to]);
    from = to;
  }
  return folds;
}
