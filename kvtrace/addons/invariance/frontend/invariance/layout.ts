// Two trees as rows side by side: what both have is in one row, and where they part is marked.

import type { InvarianceNode } from "../model";

/**
 * same: both trees have it, with all that is below. inside: both have it, and part below. here: the
 * trees part here. alone: what is below such a place.
 */
export type State = "same" | "inside" | "here" | "alone";

/** A node of one tree in a row. */
export interface Cell {
  readonly node: number;
  readonly depth: number;
  /** What it is to the node above; empty where the order says it. */
  readonly role: string;
  /** The row of the node above; -1: it is the root. */
  readonly above: number;
  readonly state: State;
  /** Its parts were shown in a row before. */
  readonly again: boolean;
}

export interface Row {
  readonly left: Cell | null;
  readonly right: Cell | null;
}

type Nodes = readonly InvarianceNode[];
type Side = "left" | "right";

/** So many rows are made; what is left out of them is further in. */
export const MOST_ROWS = 1000;

/** Place of a cell: its node, and where it is below which row. */
interface Place {
  readonly node: number;
  readonly depth: number;
  readonly role: string;
  readonly above: number;
}

/** The rows of one tree, or of two; roots are nodes. */
export function rowsOf(nodes: Nodes, left: number, right: number | null): readonly Row[] {
  const rows: Row[] = [];
  const seen = new Set<string>();
  const said = right === null ? [] : contentsOf(nodes);
  const root = (node: number): Place => ({ node, depth: 0, role: "", above: -1 });
  if (right === null) alone(root(left), "left", "same");
  else both(root(left), root(right));
  return rows;

  /** Add a row, and tell whether there was room and its parts are to follow. */
  function add(left: Place | null, right: Place | null, state: State): boolean {
    if (rows.length >= MOST_ROWS) return false;
    const known = `${left?.node},${right?.node}`;
    const again = seen.has(known);
    seen.add(known);
    const cell = (place: Place | null): Cell | null =>
      place && { ...place, state, again: again && partsOf(place).length > 0 };
    rows.push({ left: cell(left), right: cell(right) });
    return !again;
  }

  function both(one: Place, other: Place): void {
    const [mine, theirs] = [partsOf(one), partsOf(other)];
    const [a, b] = [nodes[one.node], nodes[other.node]];
    const same = said[one.node] === said[other.node];
    const alike = a?.kind === b?.kind && a?.text === b?.text && mine.length === theirs.length;
    if (!add(one, other, same ? "same" : alike ? "inside" : "here")) return;
    const above = rows.length - 1;
    if (a?.kind !== b?.kind && one.depth > 0) {
      apart(below(one, above), below(other, above));
      return;
    }
    const [left, right] = [below(one, above), below(other, above)];
    left.forEach((part, place) => {
      const opposite = right[place];
      if (opposite) both(part, opposite);
      else alone(part, "left", "alone");
    });
    right.slice(left.length).forEach((part) => alone(part, "right", "alone"));
  }

  function alone(place: Place, side: Side, state: State): void {
    const added = side === "left" ? add(place, null, state) : add(null, place, state);
    if (!added) return;
    for (const part of below(place, rows.length - 1)) alone(part, side, state);
  }

  /** Add what has no counterpart: the rows of each side beside those of the other. */
  function apart(left: readonly Place[], right: readonly Place[]): void {
    const begin = rows.length;
    for (const place of left) alone(place, "left", "alone");
    const own = rows.splice(begin);
    for (const place of right) alone(place, "right", "alone");
    const others = rows.splice(begin);
    for (let row = 0; row < Math.max(own.length, others.length); row += 1) {
      rows.push({ left: own[row]?.left ?? null, right: others[row]?.right ?? null });
    }
  }

  function below(place: Place, above: number): readonly Place[] {
    const roles = nodes[place.node]?.roles ?? [];
    return partsOf(place).map((node, part) => ({
      node,
      depth: place.depth + 1,
      role: roles[part] ?? "",
      above,
    }));
  }

  function partsOf(place: Place): readonly number[] {
    return nodes[place.node]?.parts ?? [];
  }
}

/** A number for what each node says with all below it, whatever line it comes from. */
function contentsOf(nodes: Nodes): readonly number[] {
  const known = new Map<string, number>();
  const found: number[] = [];
  for (const { kind, text, parts, roles } of nodes) {
    const below = parts.map((part) => found[part]); // parts are listed before what they are parts of
    const content = JSON.stringify([kind, text, below, roles]);
    if (!known.has(content)) known.set(content, known.size);
    found.push(known.get(content) as number);
  }
  return found;
}

/** Height of a row and width of a level, in pixels. */
export const ROW = 26;
const STEP = 16;
/** Deeper nodes begin there, too: there must be room for what they say. */
const DEEPEST = 12;
const MARGIN = 4;
/** From where a node's sign begins to its middle, and how far that reaches up and down. */
const SIGN = 7;

/** Where what a cell says begins, in pixels. */
export function indentOf({ depth }: Pick<Cell, "depth">): number {
  return STEP * Math.min(depth, DEEPEST) + MARGIN;
}

/** The lines from nodes to their parts, as the path of a drawing. */
export function linesOf(rows: readonly Row[], side: Side): string {
  const middle = (row: number): number => row * ROW + ROW / 2;
  return rows
    .flatMap((row, place) => {
      const cell = row[side];
      if (!cell || cell.above < 0) return [];
      const from = indentOf({ depth: cell.depth - 1 }) + SIGN;
      const to = indentOf(cell) - 2;
      return [`M${from} ${middle(cell.above) + SIGN}V${middle(place)}H${to}`];
    })
    .join("");
}

/** All nodes of a tree, each once, those nearest to the root first. */
export function nodesOf(nodes: Nodes, root: number): readonly number[] {
  const found = new Set([root]);
  for (const node of found) for (const part of nodes[node]?.parts ?? []) found.add(part);
  return [...found];
}
