// Ops gathered by where in the source they come from: function, line, function called there, its
// line … A group is a run of neighbors in the order of the trace, so that groups, like ops, read
// only what comes before them. Repetitions of a loop that was unrolled while tracing are groups too.

import { baseName, formatCount, shortText } from "@report/data/format";
import { page } from "@report/data/page";
import type { Stack } from "@report/data/types";
import type { GraphColumns } from "../model";
import { opcodeOf } from "./blocks";

export interface Node {
  /** null: a group. */
  readonly op: number | null;
  readonly label: string;
  /** Ops from `first` to before `end`. */
  readonly first: number;
  readonly end: number;
  readonly children: readonly Node[];
  /** The line of its frame. */
  readonly line: number | null;
}

interface Step {
  readonly key: string;
  readonly label: string;
  readonly line: number | null;
}

/** Repetitions of a line from which it counts as a loop's head. */
const REPEATED = 3;

/** All ops of a graph as one tree; its root has everything. */
export function groupedOps(graph: GraphColumns, name: string): Node {
  const cache = new Map<number, readonly Step[]>();
  const paths = graph.opcode.map((_, op) => pathOf(graph, op, cache));
  const root = group({ graph, paths }, 0, graph.opcode.length, 0, {
    key: "",
    label: name,
    line: null,
  });
  // The traced function is the root itself: its lines are beside the inputs.
  const functions = root.children.filter(({ op, label }) => op === null && label !== "inputs");
  const [traced] = functions;
  if (functions.length !== 1 || !traced || traced.line !== null) return root;
  const children = root.children.flatMap((child) => (child === traced ? traced.children : [child]));
  return { ...root, children };
}

const INPUTS: readonly Step[] = [{ key: "inputs", label: "inputs", line: null }];

function pathOf(
  graph: GraphColumns,
  op: number,
  cache: Map<number, readonly Step[]>,
): readonly Step[] {
  if (opcodeOf(graph, op) === "parameter") return INPUTS;
  const stack = graph.stack[op] ?? -1;
  let path = cache.get(stack);
  if (!path) cache.set(stack, (path = stepsOf(page.report.stacks[stack] ?? [])));
  return path;
}

/** Function and line of each frame, outermost first. */
function stepsOf(stack: Stack): Step[] {
  return [...stack].reverse().flatMap(([file, line, name]): Step[] => {
    const called = shortText(name ?? baseName(file), 60).replace(/^.*<locals>\./, "");
    const place = `${file}\n${name}`;
    return [
      { key: place, label: called, line: null },
      { key: `${place}\n${line}`, label: line === null ? called : `line ${line}`, line },
    ];
  });
}

interface Source {
  readonly graph: GraphColumns;
  readonly paths: readonly (readonly Step[])[];
}

function group(source: Source, first: number, end: number, depth: number, step: Step): Node {
  const children: Node[] = [];
  for (let op = first; op < end;) {
    const next = source.paths[op]?.[depth];
    let last = op + 1;
    while (next && last < end && source.paths[last]?.[depth]?.key === next.key) last += 1;
    children.push(
      next && last - op > 1
        ? group(source, op, last, depth + 1, next)
        : leaf(source.graph, op, next),
    );
    op = last;
  }
  const [only] = children;
  if (children.length === 1 && only) {
    // A function of which one line has all the ops is named beside that line.
    const named = depth > 0 && step.line === null && only.op === null;
    return {
      ...only,
      label: named ? `${step.label}, ${only.label}` : only.label,
      line: step.line ?? only.line,
    };
  }
  return {
    op: null,
    label: step.label,
    first,
    end,
    children: withRepetitions(children),
    line: step.line,
  };
}

function leaf(graph: GraphColumns, op: number, step: Step | undefined): Node {
  return {
    op,
    label: opcodeOf(graph, op),
    first: op,
    end: op + 1,
    children: [],
    line: step?.line ?? null,
  };
}

/** Children, with those of each repetition of an unrolled loop in a separate group. */
function withRepetitions(children: readonly Node[]): readonly Node[] {
  const head = loopHead(children);
  if (head === null) return children;
  const starts: number[] = [];
  let before: number | null = null;
  children.forEach(({ line }, place) => {
    if (line === null) return;
    if (line === head && (before === null || before !== head)) starts.push(place);
    before = line;
  });
  const bounds = starts.map(
    (start, number) => starts[number + 1] ?? loopEnd(children, start, starts),
  );
  const found: Node[] = children.slice(0, starts[0]);
  starts.forEach((start, number) => {
    const own = children.slice(start, bounds[number]);
    const label = `${formatCount(number + 1)} of ${formatCount(starts.length)}: ${span(own)}`;
    found.push(own.length === 1 ? (own[0] as Node) : gathered(label, own));
  });
  return [...found, ...children.slice(bounds[bounds.length - 1])];
}

function gathered(label: string, children: readonly Node[]): Node {
  const [first, last] = [children[0] as Node, children[children.length - 1] as Node];
  return { op: null, label, first: first.first, end: last.end, children, line: first.line };
}

/** The line that repeats most often; null where none repeats often enough. */
function loopHead(children: readonly Node[]): number | null {
  const landings = new Map<number, number>();
  let before: number | null = null;
  for (const { line } of children) {
    if (line === null) continue;
    if (before !== null && line < before) landings.set(line, (landings.get(line) ?? 0) + 1);
    before = line;
  }
  const [best] = [...landings].sort(([, a], [, b]) => b - a);
  return best && best[1] + 1 >= REPEATED ? best[0] : null;
}

/** Where the last repetition ends: at the first line that no earlier repetition has. */
function loopEnd(children: readonly Node[], start: number, starts: readonly number[]): number {
  const earlier = new Set(children.slice(starts[0], start).map(({ line }) => line));
  const after = children.findIndex(
    ({ line }, place) => place > start && line !== null && !earlier.has(line),
  );
  return after < 0 ? children.length : after;
}

function span(nodes: readonly Node[]): string {
  const lines = nodes.flatMap(({ line }) => (line === null ? [] : [line]));
  const [low, high] = [Math.min(...lines), Math.max(...lines)];
  return low === high ? `line ${low}` : `lines ${low}–${high}`;
}
