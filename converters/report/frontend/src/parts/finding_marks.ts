// Findings on the lines of the source.

import { baseName } from "../data/format";
import { page } from "../data/page";
import type { PlacedFinding, SourceFile } from "../data/types";
import type { LineMark } from "./code";

/** A finding and its lines in the page's files, innermost first. */
export interface MarkedFinding {
  readonly finding: PlacedFinding;
  readonly places: readonly { readonly path: string; readonly line: number }[];
}

/** Findings with their places; violations first. */
export function markedFindings(
  findings: readonly PlacedFinding[],
  files: readonly SourceFile[],
): readonly MarkedFinding[] {
  return findings
    .map((finding) => ({ finding, places: placesOf(finding, files) }))
    .sort((a, b) => rank(a) - rank(b) || (a.places[0]?.line ?? 0) - (b.places[0]?.line ?? 0));
}

/**
 * The page's path for a path that a location names. What comes from the compiler's cache names the
 * place where it was compiled first: then the only file of the same name is meant.
 */
export function shownPath(path: string, files: readonly SourceFile[]): string {
  if (files.some((file) => file.path === path)) return path;
  const named = files.filter((file) => baseName(file.path) === baseName(path));
  return named.length === 1 && named[0] ? named[0].path : path;
}

function placesOf(
  { found, stack, other_stack: other }: PlacedFinding,
  files: readonly SourceFile[],
): MarkedFinding["places"] {
  const frames = [stack, other].flatMap((place) => page.report.stacks[place ?? -1] ?? []);
  const all = frames.length ? frames : [[found.file, found.line, null] as const];
  return all.flatMap(([path, line]) =>
    path === null || line === null ? [] : [{ path: shownPath(path, files), line }],
  );
}

const RANKS: Readonly<Record<string, number>> = { violation: 0, unknown: 1 };

function rank({ finding }: MarkedFinding): number {
  return RANKS[finding.found.verdict] ?? 2;
}

/** Marks on the lines of one file; a violation hides other marks of its line. */
export function marksOf(
  findings: readonly MarkedFinding[],
  path: string,
): ReadonlyMap<number, LineMark> {
  const marks = new Map<number, LineMark>();
  for (const { finding, places } of findings) {
    const { verdict, severity } = finding.found;
    const mark: LineMark = verdict === "violation" && severity !== "note" ? "violation" : "unknown";
    for (const place of places) {
      if (place.path === path && marks.get(place.line) !== "violation") marks.set(place.line, mark);
    }
  }
  return marks;
}
