// How a tensor is looked at: its axes as rows, columns and slices; a flat one wrapped into rows.
//
// Offsets and strides are in units of so many bytes: the element's size where all addresses are
// whole elements, else a smaller one that they all are multiples of.

import { itemBytes } from "../../data/format";
import type { Argument } from "../../data/types";
import type { Access, Op } from "./blocks";

export interface Axis {
  readonly name: string;
  readonly size: number;
  readonly stride: number;
}

/** A place (slice, row, column) is at start + slice·stride + row·stride + column·stride. */
export interface Look {
  readonly rows: Axis;
  readonly columns: Axis;
  readonly slices: Axis | null;
  /** Axes that stand still, with where they stand. */
  readonly fixed: readonly (Axis & { readonly at: number; readonly place: number })[];
  /** All axes in the order in which they are shown: slices, rows, columns last. */
  readonly order: readonly number[];
  readonly axes: readonly Axis[];
  readonly start: number;
  /** Units from the data pointer to one past the tensor's last. */
  readonly extent: number;
  /** Elements of the tensor, which are fewer where there are gaps between them. */
  readonly elements: number;
  /** What could not be done as asked, in a sentence. */
  readonly problem: string | null;
}

/** What the address says of it. */
export interface LookAsked {
  readonly shape: string | null;
  readonly axes: string | null;
  readonly at: string | null;
}

export const NOTHING_ASKED: LookAsked = { shape: null, axes: null, at: null };

/** Bytes that one lane of an op moves; null where that cannot be told. */
export function laneBytes(op: Op): number | null {
  const lanes = (op.elements ?? 0) - (op.masked_off ?? 0);
  if (!op.bytes || lanes <= 0) return null;
  const each = op.bytes / lanes;
  return Number.isInteger(each) ? each : null;
}

/** The largest unit of which all addresses, the element and the lane are multiples. */
export function unitOf(accesses: readonly Access[], item: number, lane: number): number {
  let unit = common(item, lane);
  for (const { layout } of accesses) {
    if (!layout) continue;
    const steps = [layout.base];
    for (const each of [layout.programs, layout.trips]) {
      steps.push(...(each?.[1] ?? []).map((level) => level[2]));
    }
    steps.push(...(layout.lanes ?? []).map(([extent, stride]) => (extent > 1 ? stride : 0)));
    for (const [start, , step, , by] of layout.runs ?? []) steps.push(start, step, by);
    for (const step of steps) unit = common(unit, step);
  }
  return unit;
}

function common(a: number, b: number): number {
  let [x, y] = [Math.abs(a), Math.abs(b)];
  while (y) [x, y] = [y, x % y];
  return x;
}

/** `reach`: units up to which accesses go, for arguments whose shape is not known. */
export function lookAt(
  argument: Argument | undefined,
  unit: number,
  reach: number,
  asked: LookAsked = NOTHING_ASKED,
): Look {
  const own = axesOf(argument, unit, reach);
  const extent = extentOf(own);
  const reshaped = asked.shape ? reshapedAxes(own, asked.shape) : null;
  const problem = typeof reshaped === "string" ? reshaped : null;
  const axes = reshaped === null || typeof reshaped === "string" ? wrapped(own) : reshaped;
  const order = orderOf(asked.axes, axes.length);
  const [columns, rows, slices] = [0, 1, 2].map(
    (back) => axes[order[order.length - 1 - back] ?? -1],
  );
  const places = (asked.at ?? "").split(",").map(Number);
  const fixed = order.slice(0, -3).map((number, position) => {
    const axis = axes[number] as Axis;
    const place = Math.min(Math.max(places[position] || 0, 0), Math.max(axis.size - 1, 0));
    return { ...axis, at: number, place };
  });
  return {
    columns: columns ?? { name: "", size: 1, stride: 1 },
    rows: rows ?? { name: "", size: 1, stride: columns ? columns.size * columns.stride : 1 },
    slices: slices ?? null,
    fixed,
    order,
    axes,
    start: fixed.reduce((sum, axis) => sum + axis.place * axis.stride, 0),
    extent,
    elements: own.reduce((product, { size }) => product * size, 1),
    problem,
  };
}

/** An argument's own axes, whatever way it is looked at. */
export function axesOf(argument: Argument | undefined, unit: number, reach: number): Axis[] {
  const item = itemBytes(argument?.dtype);
  const { shape, strides } = argument ?? {};
  if (!shape || !strides || shape.length !== strides.length) return [flat(reach)];
  const axes = shape.map((size, axis) => ({
    name: `axis ${axis}`,
    size,
    stride: strides[axis] ?? 1,
  }));
  const scale = item / unit;
  if (scale === 1) return axes;
  return [flat(Math.max(extentOf(axes), 0) * scale)];
}

function flat(size: number): Axis {
  return { name: "axis 0", size, stride: 1 };
}

function extentOf(axes: readonly Axis[]): number {
  if (axes.some((axis) => axis.size === 0)) return 0;
  return 1 + axes.reduce((sum, { size, stride }) => sum + Math.max(0, (size - 1) * stride), 0);
}

/** Whether elements follow each other in the order of the axes. */
function isContiguous(axes: readonly Axis[]): boolean {
  let expected = 1;
  for (const { size, stride } of axes.toReversed()) {
    if (size !== 1 && stride !== expected) return false;
    expected *= size;
  }
  return true;
}

/** A flat tensor of some length becomes rows; others stay. */
function wrapped(axes: readonly Axis[]): readonly Axis[] {
  const [only] = axes;
  if (axes.length !== 1 || !only || only.stride !== 1 || only.size <= 128) return axes;
  const columns = 2 ** Math.ceil(Math.log2(Math.sqrt(2 * only.size)));
  return inRows([Math.ceil(only.size / columns), columns]);
}

function inRows(sizes: readonly number[]): Axis[] {
  const axes: Axis[] = [];
  let stride = 1;
  sizes.toReversed().forEach((size, back) => {
    axes.unshift({ name: `axis ${sizes.length - 1 - back}`, size, stride });
    stride *= size;
  });
  return axes;
}

/** "64 x 198" for as many elements as the tensor has; the last row may be left incomplete. */
function reshapedAxes(own: readonly Axis[], text: string): Axis[] | string {
  const sizes = text
    .split(/[^0-9]+/)
    .filter(Boolean)
    .map(Number);
  const elements = own.reduce((product, { size }) => product * size, 1);
  const places = sizes.reduce((product, size) => product * size, 1);
  const row = places / (sizes[0] || 1);
  if (!sizes.length || sizes.some((size) => size < 1)) return "A shape is numbers, as 64 x 128.";
  if (!isContiguous(own)) return "Its elements do not follow each other, so it has no other shape.";
  if (places < elements || places - elements >= row) {
    return `${sizes.join(" x ")} is ${places} places, and there are ${elements} elements.`;
  }
  return inRows(sizes);
}

/** "1,0" as a permutation; what is none is left aside. */
function orderOf(text: string | null, rank: number): number[] {
  const plain = Array.from({ length: rank }, (_, axis) => axis);
  const asked = (text ?? "").split(",").filter(Boolean).map(Number);
  const fits = asked.length === rank && plain.every((axis) => asked.includes(axis));
  return fits ? asked : plain;
}

/** Where a row, column and slice are. */
export function offsetAt(look: Look, row: number, column: number, slice: number): number {
  return (
    look.start +
    row * look.rows.stride +
    column * look.columns.stride +
    slice * (look.slices?.stride ?? 0)
  );
}

/** The row, column and slice of an offset; rows and slices may lie outside. Null: not in this look. */
export function placeOf(look: Look, offset: number): readonly [number, number, number] | null {
  const parts = [look.rows, look.columns, look.slices].map((axis, part) => ({ axis, part }));
  const found: [number, number, number] = [0, 0, 0];
  let left = offset - look.start;
  parts.sort((a, b) => (b.axis?.stride ?? 0) - (a.axis?.stride ?? 0));
  const first = parts[0]?.part;
  for (const { axis, part } of parts) {
    if (!axis || axis.stride <= 0) continue;
    const place = Math.floor(left / axis.stride);
    if (part !== first && place >= axis.size) return null;
    found[part] = place;
    left -= place * axis.stride;
  }
  return left === 0 ? found : null;
}

/** Whether an offset is an element of the tensor, as far as its last one tells. */
export function isInside(look: Look, offset: number): boolean {
  return offset >= 0 && offset < look.extent;
}

/** The place along each axis of an offset, by the strides from the largest on. */
export function indexOf(axes: readonly Axis[], offset: number): number[] {
  const index = axes.map(() => 0);
  let left = offset;
  const order = [...axes.keys()].sort((a, b) => (axes[b]?.stride ?? 0) - (axes[a]?.stride ?? 0));
  for (const axis of order) {
    const { size, stride } = axes[axis] ?? { size: 1, stride: 1 };
    if (size < 2 || stride <= 0) continue;
    index[axis] = Math.min(Math.max(Math.floor(left / stride), 0), size - 1);
    left -= (index[axis] ?? 0) * stride;
  }
  return index;
}
