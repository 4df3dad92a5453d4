// Where nodes of the drawing are. Inside a group, children stand in layers by their longest path
// from a child that reads none; layers go down, and on in a next column where a group would become
// tall. Groups are boxes around their children, so that one layout serves every zoom.

import type { GraphColumns } from "./blocks";
import type { Node } from "./tree";

/** A node with its place in its parent's box, in units that are CSS pixels at zoom 1. */
export interface Box {
  readonly node: Node;
  readonly depth: number;
  readonly width: number;
  readonly height: number;
  readonly children: readonly Placed[];
  /** Which children read which: [from, to], places in `children`. */
  readonly edges: readonly (readonly [from: number, to: number])[];
  /** Height of the strip with the label. */
  readonly head: number;
}

export interface Placed {
  readonly box: Box;
  readonly x: number;
  readonly y: number;
}

const OP_WIDTH = 128;
const OP_HEIGHT = 36;
const GAP = 14;
const BETWEEN = 22;
/** Width by height that groups come near to. */
const ASPECT = 1.7;
const HEAD_SHARE = 0.045;
const HEAD_LEAST = 18;

export function laidOut(root: Node, graph: GraphColumns): Box {
  const owner = new Int32Array(graph.opcode.length);
  return boxOf(root, graph, owner, 0);
}

function boxOf(node: Node, graph: GraphColumns, owner: Int32Array, depth: number): Box {
  if (node.op !== null) {
    return { node, depth, width: OP_WIDTH, height: OP_HEIGHT, children: [], edges: [], head: 0 };
  }
  const boxes = node.children.map((child) => boxOf(child, graph, owner, depth + 1));
  const edges = edgesOf(node, graph, owner);
  const rows = rowsOf(boxes, layersOf(boxes.length, edges), edges);
  const { places, width, height } = inColumns(boxes, rows);
  const head = Math.max(HEAD_LEAST, HEAD_SHARE * height);
  return {
    node,
    depth,
    width: width + 2 * GAP,
    height: height + head + GAP,
    head,
    edges,
    children: boxes.map((box, place) => {
      const [x, y] = places[place] ?? [0, 0];
      return { box, x: x + GAP, y: y + head };
    }),
  };
}

function edgesOf(node: Node, graph: GraphColumns, owner: Int32Array): [number, number][] {
  node.children.forEach((child, place) => owner.fill(place, child.first, child.end));
  const seen = new Set<number>();
  const found: [number, number][] = [];
  for (let op = node.first; op < node.end; op += 1) {
    for (const operand of graph.operands[op] ?? []) {
      if (operand < node.first || operand >= node.end) continue;
      const [from, to] = [owner[operand] as number, owner[op] as number];
      const key = from * node.children.length + to;
      if (from === to || seen.has(key)) continue;
      seen.add(key);
      found.push([from, to]);
    }
  }
  return found;
}

/** The layer of each child; what reads nothing stands just before its first reader. */
function layersOf(count: number, edges: readonly (readonly [number, number])[]): number[] {
  const layers = new Array<number>(count).fill(0);
  const reads = new Array<boolean>(count).fill(false);
  for (const [from, to] of [...edges].sort((a, b) => a[1] - b[1])) {
    layers[to] = Math.max(layers[to] as number, (layers[from] as number) + 1);
    reads[to] = true;
  }
  const first = new Array<number>(count).fill(Number.POSITIVE_INFINITY);
  for (const [from, to] of edges)
    first[from] = Math.min(first[from] as number, layers[to] as number);
  return layers.map((layer, place) => {
    const reader = first[place] as number;
    return reads[place] || reader === Number.POSITIVE_INFINITY ? layer : reader - 1;
  });
}

/** Children by rows; a layer of many is several rows. */
function rowsOf(
  boxes: readonly Box[],
  layers: readonly number[],
  edges: readonly (readonly [number, number])[],
): number[][] {
  const byLayer: number[][] = [];
  layers.forEach((layer, place) => (byLayer[layer] ??= []).push(place));
  const sums = boxes.map(() => [0, 0] as [number, number]);
  const position = new Array<number>(boxes.length).fill(0);
  const readers = new Map<number, number[]>();
  for (const [from, to] of edges)
    (readers.get(from) ?? readers.set(from, []).get(from) ?? []).push(to);
  const rows: number[][] = [];
  for (const layer of byLayer) {
    if (!layer) continue;
    const middle = (place: number): number => {
      const [sum, count] = sums[place] as [number, number];
      return count ? sum / count : place / boxes.length;
    };
    layer.sort((a, b) => middle(a) - middle(b));
    layer.forEach((place, at) => {
      position[place] = (at + 0.5) / layer.length;
      for (const to of readers.get(place) ?? []) {
        const sum = sums[to] as [number, number];
        sum[0] += position[place] as number;
        sum[1] += 1;
      }
    });
    const most = Math.max(8, Math.ceil(Math.sqrt(layer.length) * 1.2));
    for (let at = 0; at < layer.length; at += most) rows.push(layer.slice(at, at + most));
  }
  return rows;
}

interface Columns {
  readonly places: readonly (readonly [x: number, y: number])[];
  readonly width: number;
  readonly height: number;
}

function inColumns(boxes: readonly Box[], rows: readonly (readonly number[])[]): Columns {
  const widths = rows.map(
    (row) => sum(row, (place) => boxes[place]?.width ?? 0) + GAP * (row.length - 1),
  );
  const heights = rows.map(
    (row) => Math.max(...row.map((place) => boxes[place]?.height ?? 0)) + BETWEEN,
  );
  const whole = sum(heights, (height) => height);
  const usual = sum(widths, (width) => width) / Math.max(widths.length, 1) + GAP;
  const columns = Math.max(1, Math.floor(Math.sqrt((ASPECT * whole) / usual)));
  const limit = Math.max(whole / columns, ...heights);
  const places: [number, number][] = [];
  let [left, top, across, tall] = [0, 0, 0, 0];
  let column: number[] = [];
  const finish = (): void => {
    for (const row of column) {
      let x = left + (across - (widths[row] as number)) / 2;
      for (const place of rows[row] ?? []) {
        (places[place] as [number, number])[0] = x;
        x += (boxes[place]?.width ?? 0) + GAP;
      }
    }
    left += across + 2 * GAP;
    [column, top, across] = [[], 0, 0];
  };
  rows.forEach((row, number) => {
    if (column.length && top + (heights[number] as number) > limit * 1.02) finish();
    for (const place of row) places[place] = [0, top];
    column.push(number);
    across = Math.max(across, widths[number] as number);
    top += heights[number] as number;
    tall = Math.max(tall, top);
  });
  finish();
  return {
    places,
    width: Math.max(left - 2 * GAP, OP_WIDTH),
    height: Math.max(tall - BETWEEN, OP_HEIGHT),
  };
}

function sum<T>(values: readonly T[], value: (each: T) => number): number {
  return values.reduce((whole, each) => whole + value(each), 0);
}
