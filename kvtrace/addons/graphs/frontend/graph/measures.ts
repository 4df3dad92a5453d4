// What ops are colored by, and lines of the source are heated by.

import { formatBytes, formatFlops } from "@report/data/format";
import type { OpMeasure } from "@report/parts/op_source";
import type { GraphColumns } from "../model";

export interface Measure {
  readonly name: string;
  readonly title: string;
  readonly how: string;
  /** Whether several ops' values add up; else the largest of them counts. */
  readonly adds: boolean;
  value(graph: GraphColumns, op: number): number;
  shown(value: number): string;
}

export const MEASURES: readonly Measure[] = [
  {
    name: "flops",
    title: "FLOPs",
    how: "floating-point operations, from shapes",
    adds: true,
    value: (graph, op) => graph.flops[op] ?? 0,
    shown: formatFlops,
  },
  {
    name: "bytes",
    title: "bytes moved",
    how: "what the op reads and writes, as if it ran by itself; a compiler that fuses moves less",
    adds: true,
    value: (graph, op) => (graph.read[op] ?? 0) + (graph.written[op] ?? 0),
    shown: formatBytes,
  },
  {
    name: "live",
    title: "live memory",
    how: "bytes that are live while the op runs, in the order of the trace",
    adds: false,
    value: (graph, op) => graph.live[op] ?? 0,
    shown: formatBytes,
  },
];

export function measureNamed(name: string | null): Measure {
  return MEASURES.find((each) => each.name === name) ?? (MEASURES[0] as Measure);
}

/** The measure of several ops together: those from `first` to before `end`. */
export function total(measure: Measure, graph: GraphColumns, first: number, end: number): number {
  let sum = 0;
  for (let op = first; op < end; op += 1) {
    const value = measure.value(graph, op);
    sum = measure.adds ? sum + value : Math.max(sum, value);
  }
  return sum;
}

/** What lines of the source are heated by. */
export function heatBy(measure: Measure, graph: GraphColumns): OpMeasure<number> {
  const values = (ops: readonly number[]) => ops.map((op) => measure.value(graph, op));
  return {
    title: measure.title,
    shown: measure.shown,
    total: (ops) => values(ops).reduce((a, b) => (measure.adds ? a + b : Math.max(a, b)), 0),
    said: () => [", with those called from here", measure.how],
  };
}
