// How a tensor is viewed: its axes as rows, columns and slices; a flat one wrapped into rows.
//
// Offsets and strides are in units of so many bytes: the element's size where all addresses are
// whole elements, else a smaller one that they all are multiples of.

import { axesOf, type Axis, indexOf, itemBytes, spanOf } from "../data/tensors";
import type { Access, Argument, Op } from "../data/types";
import { placesOf } from "./records";

/** A place (slice, row, column) is at start + slice·stride + row·stride + column·stride. */
export interface Look {
  readonly rows: Axis;
  readonly columns: Axis;
  readonly slices: Axis | null;
  /** Axes with a fixed index, and that index. */
  readonly fixed: readonly { readonly axis: number; readonly place: number }[];
  /** All axes in the order in which they are shown: slices, rows, columns last. */
  readonly order: readonly number[];
  readonly axes: readonly Axis[];
  readonly start: number;
  /** Units from the data pointer to one past the tensor's last. */
  readonly extent: number;
  /** Elements of the tensor, which are fewer where there are gaps between them. */
  readonly elements: number;
  /** Whether the axes are not the tensor's own. */
  readonly wrapped: boolean;
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

/** Bytes that one lane of an op moves; null where that is not known. */
export function laneBytes(op: Op): number | null {
  const each = (op.bytes ?? 0) / ((op.elements ?? 0) - (op.masked_off ?? 0));
  return Number.isInteger(each) && each > 0 ? each : null;
}

/** The largest unit of which all addresses, the element and the lane are multiples. */
export function unitOf(accesses: readonly Access[], item: number, lane: number): number {
  let unit = common(item, lane);
  for (const { at, levels } of accesses.flatMap((access) => placesOf(access)))
    for (const step of [at[0], ...levels.map(([count, [bytes]]) => (count > 1 ? bytes : 0))])
      unit = common(unit, step);
  return unit;
}

function common(a: number, b: number): number {
  return b ? common(b, a % b) : Math.abs(a);
}

/** An argument's own axes; `reach`: units up to which accesses go, where its shape is not known. */
export function ownAxes(argument: Argument | undefined, unit: number, reach: number): Axis[] {
  const axes = axesOf(argument);
  const scale = itemBytes(argument?.dtype) / unit;
  if (axes && scale === 1) return axes;
  return [{ size: axes ? spanOf(axes)[1] * scale : reach, stride: 1 }];
}

export function lookAt(own: readonly Axis[], asked: LookAsked = NOTHING_ASKED): Look {
  const elements = own.reduce((product, { size }) => product * size, 1);
  const reshaped = asked.shape ? reshapedAxes(own, elements, asked.shape) : wrapped(own);
  const problem = typeof reshaped === "string" ? reshaped : null;
  const axes = typeof reshaped === "string" ? wrapped(own) : reshaped;
  const order = orderOf(asked.axes, axes.length);
  const [columns, rows, slices] = [-1, -2, -3].map((back) => axes[order.at(back) ?? -1]);
  const places = (asked.at ?? "").split(",").map(Number);
  const fixed = order.slice(0, -3).map((axis, position) => ({
    axis,
    place: Math.min(Math.max(places[position] || 0, 0), Math.max((axes[axis]?.size ?? 1) - 1, 0)),
  }));
  return {
    columns: columns ?? { size: 1, stride: 1 },
    rows: rows ?? { size: 1, stride: columns ? columns.size * columns.stride : 1 },
    slices: slices ?? null,
    fixed,
    order,
    axes,
    start: fixed.reduce((sum, { axis, place }) => sum + place * (axes[axis]?.stride ?? 0), 0),
    extent: spanOf(own)[1],
    elements,
    wrapped: axes !== own,
    problem,
  };
}

/** Whether elements follow each other in the order of the axes. */
function isContiguous(axes: readonly Axis[]): boolean {
  return inRows(axes.map(({ size }) => size)).every(
    ({ size, stride }, axis) => size === 1 || stride === axes[axis]?.stride,
  );
}

/** A flat tensor of some length becomes rows; others stay. */
function wrapped(axes: readonly Axis[]): readonly Axis[] {
  const [only] = axes;
  if (axes.length !== 1 || !only || only.stride !== 1 || only.size <= 128) return axes;
  const columns = 2 ** Math.ceil(Math.log2(Math.sqrt(2 * only.size)));
  return inRows([Math.ceil(only.size / columns), columns]);
}

function inRows(sizes: readonly number[]): Axis[] {
  let stride = 1;
  return sizes
    .toReversed()
    .map((size) => {
      const axis = { size, stride };
      stride *= size;
      return axis;
    })
    .reverse();
}

/** "64 x 198" for as many elements as the tensor has; the last row may be left incomplete. */
function reshapedAxes(own: readonly Axis[], elements: number, text: string): Axis[] | string {
  const sizes = (text.match(/\d+/g) ?? []).map(Number);
  const places = sizes.reduce((product, size) => product * size, 1);
  if (!places || !sizes.length) return "A shape consists of numbers, such as 64 x 128.";
  if (!isContiguous(own))
    return "Its elements are not contiguous, so it cannot have another shape.";
  if (places < elements || places - elements >= places / (sizes[0] ?? 1))
    return `${sizes.join(" x ")} is ${places} places, and there are ${elements} elements.`;
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
  const inSlice = row * look.rows.stride + column * look.columns.stride;
  return look.start + inSlice + slice * (look.slices?.stride ?? 0);
}

/** The row, column and slice of an offset; the outermost may lie outside. Null: not in this look. */
export function placeOf(look: Look, offset: number): readonly number[] | null {
  const axes = [look.rows, look.columns, look.slices ?? { size: 1, stride: 0 }];
  const outermost = axes.reduce((most, axis) => (axis.stride > most.stride ? axis : most));
  const open = axes.map((axis) => (axis === outermost ? { ...axis, size: Infinity } : axis));
  return indexOf(open, offset - look.start);
}

/** Whether an offset is an element of the tensor, as far as its last one tells. */
export function isInside(look: Look, offset: number): boolean {
  return offset >= 0 && offset < look.extent;
}
