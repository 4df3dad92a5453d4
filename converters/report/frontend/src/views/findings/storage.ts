// Where a witness's access falls in the storage of its tensor, in bytes from the data pointer.

import { page } from "../../data/page";
import { axesOf, type Axis, itemBytes, spanOf } from "../../data/tensors";
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

/** null where the finding has no address, or its argument is none whose shape is known. */
export function storageOf(placed: PlacedFinding): StorageView | null {
  const { found } = placed;
  const call = page.report.calls[placed.call ?? -1];
  const argument = call?.args
    .map((index) => page.report.arguments[index])
    .find((each) => each?.kind === "tensor" && each.name === found.arg);
  const axes = axesOf(argument);
  if (!argument || !axes || found.address_offset === null) return null;
  const { offset_bytes: offset, storage_bytes: bytes } = argument;
  const item = itemBytes(argument.dtype);
  const [low, high] = spanOf(axes);
  const view = { first: low * item, end: high * item };
  const storage = {
    first: Math.min(view.first, 0 - (offset ?? 0)),
    end: Math.max(view.end, (bytes ?? view.end) - (offset ?? 0)),
  };
  const first = found.address_offset;
  const access = { first, end: first + widthOf(found, item, view, storage) };
  return { argument, item, view, storage, access, axes };
}

/** An access ends so many bytes past an end: of the storage, or of the view. */
function widthOf(found: Finding, item: number, view: Span, storage: Span): number {
  const past = found.past_end_bytes ?? 0;
  const end = found.rule === "out-of-view" ? view.end : storage.end;
  const width = end + past - (found.address_offset ?? 0);
  return past > 0 && width > 0 && width <= 16 ? width : item;
}
