// Which lines of the source and of a compiler stage belong together.

import type { LineLinks, SourceFile } from "../../data/types";
import type { Lit } from "../../parts/code";
import { shownPath } from "../../parts/finding_marks";
import type { Place } from "./state";

/** A line of a source file; `path` as the page's files have it. */
export interface SourcePlace {
  readonly path: string;
  readonly line: number;
}

/** A line of the stage; `depth` 0 is that line's own code, larger ones were inlined from further in. */
interface StagePlace {
  readonly line: number;
  readonly depth: number;
}

export interface Links {
  /** Stage line → where it comes from, innermost first. */
  readonly toSource: ReadonlyMap<number, readonly SourcePlace[]>;
  /** Path → source line → stage lines. */
  readonly toStage: ReadonlyMap<string, ReadonlyMap<number, readonly StagePlace[]>>;
}

export const NO_LINKS: Links = { toSource: new Map(), toStage: new Map() };

export function linksOf(links: LineLinks | null, files: readonly SourceFile[]): Links {
  if (!links) return NO_LINKS;
  const paths = links.files.map((path) => shownPath(path, files));
  const stacks = links.stacks.map((stack) =>
    stack.map(([file, line]): SourcePlace => ({ path: paths[file] ?? "", line })),
  );
  const toSource = new Map<number, readonly SourcePlace[]>();
  const toStage = new Map<string, Map<number, StagePlace[]>>();
  links.lines.forEach((number, index) => {
    const stack = stacks[number];
    if (!stack) return;
    toSource.set(index + 1, stack);
    stack.forEach(({ path, line }, depth) => {
      const ofFile = entry(toStage, path, () => new Map<number, StagePlace[]>());
      const places = entry(ofFile, line, () => []);
      // Recursion puts a line into one stack twice; the innermost is enough.
      if (places.at(-1)?.line !== index + 1) places.push({ line: index + 1, depth });
    });
  });
  return { toSource, toStage };
}

function entry<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

/** The lines of the source that the active line is, or is from, innermost first. */
export function sourceOf(active: Place | null, links: Links, path: string): readonly SourcePlace[] {
  if (!active) return [];
  return active.pane === "source"
    ? [{ path, line: active.line }]
    : (links.toSource.get(active.line) ?? []);
}

/** Lines of a text that belong to a place of the source, and to what it was inlined into. */
export function litLines(
  frames: readonly SourcePlace[],
  pane: Place["pane"],
  active: Place | null,
  links: Links,
  path: string,
): ReadonlyMap<number, Lit> {
  if (!active) return new Map();
  if (active.pane === pane) return new Map([[active.line, "here"]]);
  const [inner] = frames;
  const belonging =
    pane === "source"
      ? frames.flatMap((place, depth) => (place.path === path ? [{ line: place.line, depth }] : []))
      : ((inner && links.toStage.get(inner.path)?.get(inner.line)) ?? []);
  const lit = new Map<number, Lit>();
  for (const { line, depth } of belonging)
    if (!lit.has(line)) lit.set(line, depth ? "outer" : "there");
  return lit;
}
