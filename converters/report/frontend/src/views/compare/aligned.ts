// Two texts side by side: what each editor shows, which lines light up, where there is nothing to
// put beside the other side's line, and where one change ends and the next begins.

import type { Lit } from "../../parts/code";
import type { Row } from "./blocks";
import { realigned, type Substitutions, tokens } from "./realign";

export interface Pane {
  readonly text: string;
  readonly firstLine: number;
  /** Lines (from 1 in the text) before which so many lines are missing; the last is past the end. */
  readonly spacers: readonly (readonly [line: number, count: number])[];
}

/** Neighboring rows that differ. */
interface Hunk {
  readonly first: number;
  readonly end: number;
}

export interface Aligned {
  readonly rows: readonly Row[];
  readonly before: Pane;
  readonly after: Pane;
  readonly hunks: readonly Hunk[];
  /** Number in its pane of each row's line; null where the side has none. */
  readonly lines: {
    readonly before: readonly (number | null)[];
    readonly after: readonly (number | null)[];
  };
  /** Rows that differ only in numbers that correspond to each other. */
  readonly substituted: ReadonlySet<number>;
}

export type PaneName = "before" | "after";

const GAP = "⋯";
const SIDES = [
  ["before", 1],
  ["after", 3],
] as const;

export function aligned(given: readonly Row[], substitutions: Substitutions = []): Aligned {
  const rows = realigned(given, substitutions);
  const panes = Object.fromEntries(SIDES.map(([name, at]) => [name, paneOf(rows, at)])) as Record<
    PaneName,
    { pane: Pane; lines: (number | null)[] }
  >;
  const substituted = substitutedRows(rows, substitutions);
  return {
    rows,
    before: panes.before.pane,
    after: panes.after.pane,
    hunks: hunksOf(rows, substituted),
    lines: { before: panes.before.lines, after: panes.after.lines },
    substituted,
  };
}

function paneOf(rows: readonly Row[], at: 1 | 3): { pane: Pane; lines: (number | null)[] } {
  const firstLine = rows.map((row) => row[at]).find((number) => number !== null) ?? 1;
  const texts: string[] = [];
  const lines: (number | null)[] = [];
  const missing = new Map<number, number>();
  for (const row of rows) {
    const text = row[0] === "gap" ? GAP : row[(at + 1) as 2 | 4];
    if (text === null) {
      missing.set(texts.length + 1, (missing.get(texts.length + 1) ?? 0) + 1);
      lines.push(null);
      continue;
    }
    texts.push(text);
    lines.push(texts.length - 1 + firstLine);
  }
  return { pane: { text: texts.join("\n"), firstLine, spacers: [...missing] }, lines };
}

/**
 * Rows whose lines are the same once BEFORE's numbers are read as AFTER's. Names of values count
 * as the same where they name the same value: one more value renumbers all that follow.
 */
function substitutedRows(rows: readonly Row[], substitutions: Substitutions): ReadonlySet<number> {
  const found = new Set<number>();
  if (!substitutions.length) return found;
  const numbers = new Set(substitutions.map(([from, to]) => `${from} ${to}`));
  const names = new Names();
  rows.forEach(([kind, , before, , after], index) => {
    if (before === null || after === null) return;
    const [left, right] = [tokens(before), tokens(after)];
    const defines = left[1]?.startsWith("%") && left[0]?.trim() === "";
    const fits =
      left.length === right.length &&
      left.every((token, place) => {
        const other = right[place] ?? "";
        if (token.startsWith("%") && other.startsWith("%")) {
          return names.alike(token, other, kind === "same" || (place === 1 && Boolean(defines)));
        }
        return token === other || numbers.has(`${token} ${other}`);
      });
    if (fits && kind === "changed") found.add(index);
  });
  return found;
}

/** Which names of both sides are the same value: from where they are defined, or first used. */
class Names {
  private readonly pairs = new Set<string>();
  private readonly known = [new Set<string>(), new Set<string>()] as const;

  alike(before: string, after: string, defined: boolean): boolean {
    const pair = `${before} ${after}`;
    if (defined || (!this.known[0].has(before) && !this.known[1].has(after))) {
      this.pairs.add(pair);
      this.known[0].add(before);
      this.known[1].add(after);
    }
    return this.pairs.has(pair);
  }
}

/** Runs of rows that differ; those that are only substituted make runs only where no others do. */
function hunksOf(rows: readonly Row[], substituted: ReadonlySet<number>): Hunk[] {
  const differs = (index: number): boolean => !["same", "gap"].includes(rows[index]?.[0] ?? "same");
  const indices = [...rows.keys()].filter(differs);
  const own = indices.filter((index) => !substituted.has(index));
  const hunks: { first: number; end: number }[] = [];
  for (const index of own.length ? own : indices) {
    const last = hunks.at(-1);
    if (last && last.end === index) last.end = index + 1;
    else hunks.push({ first: index, end: index + 1 });
  }
  return hunks;
}

/** What lights up in a pane: the chosen change most, what is only substituted least. */
export function litLines(
  of: Aligned,
  side: PaneName,
  chosen: Hunk | null,
): ReadonlyMap<number, Lit> {
  const lit = new Map<number, Lit>();
  of.rows.forEach(([kind], index) => {
    const line = of.lines[side][index];
    if (line === null || line === undefined || kind === "same" || kind === "gap") return;
    const here = chosen !== null && index >= chosen.first && index < chosen.end;
    lit.set(line, here ? "here" : of.substituted.has(index) ? "outer" : "there");
  });
  return lit;
}

/** The change that a line of a pane belongs to. */
export function hunkAt(of: Aligned, side: PaneName, line: number): number | null {
  const row = of.lines[side].indexOf(line);
  const found = of.hunks.findIndex(({ first, end }) => row >= first && row < end);
  return row < 0 || found < 0 ? null : found;
}
