// Pairs lines of a changed part again: those that differ only in numbers that correspond to each
// other and names of values belong beside each other, whatever came between them.

import type { Row } from "./blocks";

export type Substitutions = readonly (readonly [before: string, after: string])[];

type Line = readonly [number: number | null, text: string];

/** Parts with more pairs of lines than this stay as they are. */
const MOST_PAIRS = 1_000_000;

/** Names of values, numbers, and what is between them. */
export function tokens(text: string): readonly string[] {
  return text.split(/(%[\w.$-]+|\d+)/);
}

export function realigned(rows: readonly Row[], substitutions: Substitutions): readonly Row[] {
  if (!substitutions.length) return rows;
  const found: Row[] = [];
  let before: Line[] = [];
  let after: Line[] = [];
  const settle = (): void => {
    found.push(...pairedPart(before, after, substitutions));
    [before, after] = [[], []];
  };
  for (const row of rows) {
    if (row[0] === "same" || row[0] === "gap") {
      settle();
      found.push(row);
      continue;
    }
    if (row[2] !== null) before.push([row[1], row[2]]);
    if (row[4] !== null) after.push([row[3], row[4]]);
  }
  settle();
  return found;
}

function pairedPart(
  before: readonly Line[],
  after: readonly Line[],
  substitutions: Substitutions,
): Row[] {
  if (before.length * after.length > MOST_PAIRS) return beside(before, after);
  const read = new Map(substitutions);
  const left = before.map(([, text]) => likeness(text, read));
  const right = after.map(([, text]) => likeness(text, new Map()));
  const rows: Row[] = [];
  let [i, j] = [0, 0];
  for (const [a, b] of [...commonPlaces(left, right), [before.length, after.length] as const]) {
    rows.push(...beside(before.slice(i, a), after.slice(j, b)));
    const [one, two] = [before[a], after[b]];
    if (one && two) rows.push(["changed", ...one, ...two]);
    [i, j] = [a + 1, b + 1];
  }
  return rows;
}

/** Lines one by one; what is left over has no pair. */
function beside(before: readonly Line[], after: readonly Line[]): Row[] {
  return Array.from({ length: Math.max(before.length, after.length) }, (_, place): Row => {
    const [one, two] = [before[place], after[place]];
    const kind = one && two ? "changed" : one ? "removed" : "added";
    return [kind, one?.[0] ?? null, one?.[1] ?? null, two?.[0] ?? null, two?.[1] ?? null];
  });
}

/** The line with BEFORE's numbers as AFTER's, and without names. */
function likeness(text: string, numbers: ReadonlyMap<string, string>): string {
  return tokens(text)
    .map((token) => (token.startsWith("%") ? "%" : (numbers.get(token) ?? token)))
    .join("");
}

/** Places of a longest common subsequence. */
function commonPlaces(a: readonly string[], b: readonly string[]): (readonly [number, number])[] {
  const wide = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * wide);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      lengths[i * wide + j] =
        a[i] === b[j]
          ? (lengths[(i + 1) * wide + j + 1] ?? 0) + 1
          : Math.max(lengths[(i + 1) * wide + j] ?? 0, lengths[i * wide + j + 1] ?? 0);
    }
  }
  const places: (readonly [number, number])[] = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    const down = lengths[(i + 1) * wide + j] ?? 0;
    const right = lengths[i * wide + j + 1] ?? 0;
    if (a[i] === b[j]) places.push([i++, j++]);
    else if (down >= right) i += 1;
    else j += 1;
  }
  return places;
}
