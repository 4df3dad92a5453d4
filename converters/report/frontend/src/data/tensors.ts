// Where elements of tensors lie.

import type { Argument } from "./types";

export interface Axis {
  readonly size: number;
  /** In elements, or what else offsets count. */
  readonly stride: number;
}

/** Bytes of an element; types of the trace ("fp32", "i1") and of the IR ("f32", "i1") alike. */
export function itemBytes(dtype: string | null | undefined): number {
  const bits = /^(?:fp|bf|f|i|u|ui|si)(\d+)/.exec(dtype ?? "")?.[1];
  return Math.max(1, Math.floor(Number(bits ?? 8) / 8));
}

/** The axes of an argument; null where its shape is not known. */
export function axesOf(argument: Argument | undefined): Axis[] | null {
  const { shape, strides } = argument ?? {};
  if (!shape || !strides || shape.length !== strides.length) return null;
  return shape.map((size, axis) => ({ size, stride: strides[axis] ?? 1 }));
}

/** First and one past the last offset that the elements span. */
export function spanOf(axes: readonly Axis[]): readonly [first: number, end: number] {
  if (axes.some(({ size }) => size === 0)) return [0, 0];
  const steps = axes.map(({ size, stride }) => (size - 1) * stride);
  return steps.reduce(
    ([first, end], step) => [first + Math.min(0, step), end + Math.max(0, step)],
    [0, 1] as readonly [number, number],
  );
}

/**
 * The place along each axis of an offset; along the one with the largest stride it may lie outside.
 * Null: none of the places is there.
 */
export function indexOf(axes: readonly Axis[], offset: number): number[] | null {
  const index = axes.map(() => 0);
  let left = offset;
  const order = [...axes.entries()].filter(([, { size, stride }]) => size > 1 && stride > 0);
  order.sort(([, a], [, b]) => b.stride - a.stride);
  for (const [place, [axis, { size, stride }]] of order.entries()) {
    const at = Math.floor(left / stride);
    if (place > 0 && at >= size) return null;
    index[axis] = at;
    left -= at * stride;
  }
  return left === 0 ? index : null;
}

/** Rows or columns from the first to one past the last, in so many bins. */
export interface Span {
  readonly first: number;
  readonly end: number;
  readonly bins: number;
}

/** The first row or column of a bin. */
export function binStart({ first, end, bins }: Span, bin: number): number {
  return first + Math.ceil((bin * (end - first)) / bins);
}
