// How modules may depend on each other: no import cycle, and parts and data do not import views.

import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

import { describe, expect, test } from "vitest";

const ROOT = resolve(import.meta.dirname, "../src");
const FILES = readdirSync(ROOT, { recursive: true, encoding: "utf8" }).filter((path) =>
  /\.tsx?$/.test(path),
);

/** The page's modules that a text imports; types too: a cycle of types confuses readers. */
function importsOf(path: string, text: string): string[] {
  const named = [...text.matchAll(/from "(\.[^"]+)"/g)].map((match) => match[1] as string);
  return named.map((name) => {
    const base = relative(ROOT, join(ROOT, dirname(path), name));
    const found = [base, `${base}.ts`, `${base}.tsx`].find((each) => FILES.includes(each));
    if (!found) throw new Error(`${path} imports ${name}, which is not there`);
    return found;
  });
}

/** The first import cycle that a walk finds; null where there is none. */
function circleIn(graph: ReadonlyMap<string, readonly string[]>): string[] | null {
  const done = new Set<string>();
  const walk = (at: string, trail: readonly string[]): string[] | null => {
    if (trail.includes(at)) return [...trail.slice(trail.indexOf(at)), at];
    if (done.has(at)) return null;
    for (const next of graph.get(at) ?? []) {
      const circle = walk(next, [...trail, at]);
      if (circle) return circle;
    }
    done.add(at);
    return null;
  };
  for (const start of graph.keys()) {
    const circle = walk(start, []);
    if (circle) return circle;
  }
  return null;
}

describe("modules", () => {
  const graph = new Map(
    FILES.map((path) => [path, importsOf(path, readFileSync(join(ROOT, path), "utf8"))]),
  );

  test("import each other in no circle", () => {
    expect(graph.size).toBeGreaterThan(50);
    expect(circleIn(graph)).toBeNull();
  });

  test("a circle would be seen", () => {
    const three = new Map([
      ["a", ["b"]],
      ["b", ["c"]],
      ["c", ["b"]],
    ]);
    expect(circleIn(three)).toEqual(["b", "c", "b"]);
  });

  test("of data, accesses and parts know no view", () => {
    const wrong = [...graph].flatMap(([path, imports]) =>
      /^(?:data|accesses|parts)\//.test(path)
        ? imports.filter((each) => each.startsWith("views/")).map((each) => `${path}: ${each}`)
        : [],
    );
    expect(wrong).toEqual([]);
  });
});
