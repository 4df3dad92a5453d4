// The drawing of a graph: ops from left to right in the order of the trace, and above them the lines,
// functions and loops that they come from. A group that is clicked fills the width.

import { useMemo } from "preact/hooks";
import { setQuery } from "@report/app/router";
import { plural } from "@report/data/format";
import { Flame, NARROWEST } from "@report/parts/flame";
import { opTitle, placeText, typeText } from "./blocks";
import type { GraphColumns } from "../model";
import { type Measure, total } from "./measures";
import type { Node } from "./tree";

interface DrawingProps {
  readonly graph: GraphColumns;
  readonly tree: Node;
  readonly users: readonly (readonly number[])[];
  readonly measure: Measure;
  /** Ops that a search found; null: nothing is searched for. */
  readonly found: ReadonlySet<number> | null;
  readonly chosen: number | null;
  /** "first,end" of the ops that are seen, from the address; null: all. */
  readonly seen: string | null;
}

/** A node that is drawn, from left to right as shares of the width. */
interface Box {
  readonly node: Node;
  readonly depth: number;
  readonly left: number;
  readonly width: number;
  readonly value: number;
}

export function Drawing({ graph, tree, users, measure, found, chosen, seen }: DrawingProps) {
  const count = graph.opcode.length;
  const [first = 0, end = count] = seen ? seen.split(",").map(Number) : [];
  const boxes = useMemo(
    () => boxesOf(tree, first, end, (node) => total(measure, graph, node.first, node.end)),
    [tree, first, end, measure],
  );
  // one scale for all boxes: what is around the whole view says nothing of its parts
  const most = boxes.reduce((top, { width, value }) => Math.max(top, width < 1 ? value : 0), 0);
  const reads = new Set(chosen === null ? [] : graph.operands[chosen]);
  const readers = new Set(chosen === null ? [] : users[chosen]);
  const see = (node: Node): void =>
    setQuery({ see: node === tree ? null : `${node.first},${node.end}` });
  /** The groups around an op, the outermost first. */
  const around = (op: number): Node[] => {
    const path = [tree];
    for (let at = tree; at.op === null; path.push(at))
      at = at.children.find((child) => child.first <= op && op < child.end) as Node;
    return path.filter((node) => node.op === null);
  };
  const show = (op: number): void => setQuery({ op: Math.min(Math.max(op, 0), count - 1) });
  const zoom = (wider: boolean): void => {
    const path = around(chosen !== null && chosen >= first && chosen < end ? chosen : first);
    const inner = path.filter((node) => node.end - node.first < end - first);
    const outer = path.filter((node) => node.end - node.first > end - first);
    const next = wider ? outer.at(-1) : inner[0];
    if (next) see(next);
  };
  const keys: Readonly<Record<string, () => void>> = {
    "]": () => show((chosen ?? -1) + 1),
    "[": () => show((chosen ?? 1) - 1),
    "+": () => zoom(false),
    "=": () => zoom(false),
    "-": () => zoom(true),
    "0": () => see(tree),
    Escape: () => setQuery({ op: null }),
  };

  const classOf = ({ first, end, op }: Node): string => {
    const has = (ops: ReadonlySet<number>): boolean => {
      for (let each = first; each < end; each += 1) if (ops.has(each)) return true;
      return false;
    };
    if (found) return has(found) ? "found" : "other";
    if (op === null) return "";
    return op === chosen ? "chosen" : reads.has(op) ? "read" : readers.has(op) ? "reader" : "";
  };
  return (
    <div id="graph-drawing">
      <Flame
        label={`Ops of the graph, ${plural(count, "op")}, in groups by line and loop. Plus, minus and 0 zoom, brackets go from op to op. The table of ops below says the same.`}
        keys={keys}
        boxes={boxes.map(({ node, depth, left, width, value }) => ({
          key: `${depth} ${node.first}`,
          depth,
          left,
          width,
          label: node.op === null ? node.label : opTitle(graph, node.op),
          title: described(graph, measure, node, value),
          heat: most ? Math.min(value / most, 1) : 0,
          mark: classOf(node),
          onClick: () =>
            node.op === null ? see(node) : setQuery({ op: node.op === chosen ? null : node.op }),
        }))}
      />
      <p class="muted small">
        Colors are relative to the largest box in view. Click: an op, or into a group. Outlined in
        blue is what the chosen op reads, in green what reads it.
      </p>
    </div>
  );
}

function boxesOf(tree: Node, first: number, end: number, valueOf: (node: Node) => number): Box[] {
  const boxes: Box[] = [];
  const visit = (node: Node, depth: number): void => {
    const [from, to] = [Math.max(node.first, first), Math.min(node.end, end)];
    const width = (to - from) / (end - first);
    if (!(width >= NARROWEST)) return;
    const left = (from - first) / (end - first);
    boxes.push({ node, depth, left, width, value: valueOf(node) });
    for (const child of node.children) visit(child, depth + 1);
  };
  visit(tree, 0);
  return boxes;
}

function described(
  graph: GraphColumns,
  measure: Measure,
  { op, label, first, end }: Node,
  value: number,
): string {
  const figure = `${measure.shown(value)} (derived)`;
  if (op === null) return `${label}: ${plural(end - first, "op")}, ${figure}`;
  const place = placeText(graph, op);
  return `${opTitle(graph, op)}: ${typeText(graph, op)}; ${measure.title} ${figure}; ${place}`;
}
