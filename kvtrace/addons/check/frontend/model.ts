// Written by model_types.py from the dataclasses that fill the page; `make frontend` does so again.
//
// null means "not known" and is never shown as a zero. Times are whole nanoseconds, sizes bytes. An
// index is a place in one of the report's arrays.

/** Result for one storage after a launch; `number` names the block of its map. */
export interface CheckRow {
  readonly number: number;
  readonly run: number;
  readonly seq: number;
  /** Index into `Report.calls`. */
  readonly call: number | null;
  /** Position of the tensor among the call's arguments. */
  readonly arg: number | null;
  readonly name: string | null;
  readonly dtype: string | null;
  readonly answer: string;
  readonly reason: string | null;
  readonly elements: number | null;
  readonly undecided: number | null;
  readonly differing: number | null;
  /** The largest distance, as a share of the bound, of elements within their bounds. */
  readonly nearest: number | null;
  /** The median bound, relative to the root mean square of the elements. */
  readonly bound: number | null;
  /** The element farthest beyond its bound: the device's value; `expected` is the IR's value. */
  readonly got: string | null;
  readonly expected: string | null;
  readonly worst_bound: number | null;
  readonly program: readonly [number, number, number] | null;
  readonly lane: readonly number[] | null;
  readonly pattern: string | null;
  /** The stage at fault of a storage that differs: ttgir, behind ttgir or unknown. */
  readonly stage: string | null;
  readonly stage_reason: string | null;
  readonly has_map: boolean;
}

/**
 * The largest error of each part of a tensor, relative to the tensor's root mean square.
 *
 * Values are row by row; null is an infinite error, as for a NaN.
 */
export interface ErrorMap {
  readonly columns: number;
  readonly errors: readonly (number | null)[];
}
