// Where a witness's access falls in the storage of its tensor, in bytes from the data pointer.

import { itemBytes } from "../../data/format";
import type { Page } from "../../data/page";
import type { Argument, Finding, PlacedFinding } from "../../data/types";

export interface Span {
  readonly first: number;
  /** One past the last byte. */
  readonly end: number;
}

export interface StorageView {
  readonly argument: Argument;
  /** Bytes of an element. */
  readonly item: number;
  /** What the tensor itself spans; in the storage of others it is only a part. */
  readonly view: Span;
  readonly storage: Span;
  readonly access: Span;
  readonly axes: readonly Axis[];
}

interface Axis {
  readonly size: number;
  /** In elements. */
  readonly stride: number;
}

/** null where the finding has no address, or its argument is none whose shape is known. */
export function storageOf(page: Page, placed: PlacedFinding): StorageView | null {
  const { found } = placed;
  const call = page.report.calls[placed.call ?? -1];
  const argument = call?.args
    .map((index) => page.report.arguments[index])
    .find((each) => each?.kind === "tensor" && each.name === found.arg);
  if (!argument || found.address_offset === null) return null;
  const { shape, strides, offset_bytes: offset, storage_bytes: bytes } = argument;
  if (!shape || !strides || shape.length !== strides.length) return null;
  const item = itemBytes(argument.dtype);
  const axes = shape.map((size, axis) => ({ size, stride: strides[axis] ?? 0 }));
  const view = viewOf(axes, item);
  const storage = {
    first: Math.min(view.first, 0 - (offset ?? 0)),
    end: Math.max(view.end, (bytes ?? view.end) - (offset ?? 0)),
  };
  const first = found.address_offset;
  const access = { first, end: first + widthOf(found, item, view, storage) };
  return { argument, item, view, storage, access, axes };
}

function viewOf(axes: readonly Axis[], item: number): Span {
  if (axes.some(({ size }) => size === 0)) return { first: 0, end: 0 };
  const steps = axes.map(({ size, stride }) => (size - 1) * stride);
  const sum = (kept: (step: number) => boolean): number =>
    steps.filter(kept).reduce((total, step) => total + step, 0);
  return { first: sum((step) => step < 0) * item, end: (sum((step) => step > 0) + 1) * item };
}

/** An access ends so many bytes past an end: of the storage, or of the view. */
function widthOf(found: Finding, item: number, view: Span, storage: Span): number {
  const past = found.past_end_bytes ?? 0;
  const end = found.rule === "out-of-view" ? view.end : storage.end;
  const width = end + past - (found.address_offset ?? 0);
  return past > 0 && width > 0 && width <= 16 ? width : item;
}

/** The tensor's index of an element; the outermost axis may run over its end. */
export function indexOf(of: StorageView, element: number): number[] | null {
  const order = [...of.axes.keys()].sort(
    (a, b) => (of.axes[b]?.stride ?? 0) - (of.axes[a]?.stride ?? 0),
  );
  const index = of.axes.map(() => 0);
  let left = element;
  for (const [place, axis] of order.entries()) {
    const { size, stride } = of.axes[axis] ?? { size: 1, stride: 0 };
    if (stride <= 0 || size < 2) continue;
    const at = Math.floor(left / stride);
    if (place > 0 && (at < 0 || at >= size)) return null;
    index[axis] = at;
    left -= at * stride;
  }
  return left === 0 ? index : null;
}
