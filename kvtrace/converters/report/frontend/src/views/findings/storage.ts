// Where a witness's access falls in the storage of its tensor, in bytes from the data pointer.

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

export type Kind = "access" | "view" | "storage" | "outside";

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

/** Bytes of an element of a type such as "fp32", "i1" or "fp8e4nv". */
function itemBytes(dtype: string | null): number {
  const bits = Number(/^(?:fp|bf|f|i|u|ui|si)(\d+)/.exec(dtype ?? "")?.[1] ?? 8);
  return Math.max(1, Math.floor(bits / 8));
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

/** What lies at an element's place, counted from the data pointer. */
export function kindAt(of: StorageView, element: number): Kind {
  const first = element * of.item;
  if (first < of.access.end && first + of.item > of.access.first) return "access";
  if (first < of.storage.first || first + of.item > of.storage.end) return "outside";
  return indexOf(of, element, false) ? "view" : "storage";
}

/** The tensor's index of an element; `beyond` lets the outermost axis run over its end. */
export function indexOf(of: StorageView, element: number, beyond: boolean): number[] | null {
  const order = [...of.axes.keys()].sort(
    (a, b) => (of.axes[b]?.stride ?? 0) - (of.axes[a]?.stride ?? 0),
  );
  const index = of.axes.map(() => 0);
  let left = element;
  for (const [place, axis] of order.entries()) {
    const { size, stride } = of.axes[axis] ?? { size: 1, stride: 0 };
    if (stride <= 0 || size < 2) continue;
    const at = Math.floor(left / stride);
    const open = beyond && place === 0;
    if (!open && (at < 0 || at >= size)) return null;
    index[axis] = at;
    left -= at * stride;
  }
  return left === 0 ? index : null;
}

/** Elements of one row of the drawing: the innermost axis where that is of a good length. */
export function rowLength(of: StorageView, most: number): number {
  const inner = of.axes.findLast(({ size }) => size > 1);
  const good = of.axes.length > 1 && inner?.stride === 1 && inner.size >= 4 && inner.size <= most;
  return good ? inner.size : Math.min(32, most);
}

/** Rows of elements that are drawn: around the access and around the end; null is a break. */
export function rowsShown(of: StorageView, length: number): (number | null)[] {
  const rowOf = (byte: number): number => Math.floor(byte / of.item / length);
  const at = rowOf(of.access.first);
  const wanted = new Set([at - 1, at, at + 1]);
  const outside = of.access.end > of.view.end || of.access.first < of.view.first;
  if (outside) {
    const edge = of.access.first < of.view.first ? rowOf(of.view.first) : rowOf(of.view.end - 1);
    for (const row of [edge - 1, edge, edge + 1]) wanted.add(row);
  }
  const rows = [...wanted].sort((a, b) => a - b);
  const shown: (number | null)[] = [];
  rows.forEach((row, place) => {
    const before = rows[place - 1];
    if (before !== undefined && row - before > 1) shown.push(...between(before, row));
    shown.push(row);
  });
  return shown;
}

function between(before: number, after: number): (number | null)[] {
  return after - before === 2 ? [before + 1] : [null];
}
