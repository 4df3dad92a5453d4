// Written by model_types.py from the dataclasses that fill the page; `make frontend` does so again.
//
// null means "not known" and is never shown as a zero. Times are whole nanoseconds, sizes bytes. An
// index is a place in one of the report's arrays.

/** What came of one storage after a launch; `number` names the block of its map. */
export interface CheckRow {
  readonly number: number;
  readonly run: number;
  readonly seq: number;
  /** Index into `Report.calls`. */
  readonly call: number | null;
  /** Place of the tensor among the call's arguments. */
  readonly arg: number | null;
  readonly name: string | null;
  readonly dtype: string | null;
  readonly answer: string;
  readonly reason: string | null;
  readonly elements: number | null;
  readonly undecided: number | null;
  readonly differing: number | null;
  /** The largest part of its bound that an element used which is within it. */
  readonly nearest: number | null;
  /** The median bound, relative to the root mean square of the elements. */
  readonly bound: number | null;
  /** The element that is farthest beyond its bound: the device's value, and the expected one. */
  readonly got: string | null;
  readonly expected: string | null;
  readonly worst_bound: number | null;
  readonly program: readonly [number, number, number] | null;
  readonly lane: readonly number[] | null;
  readonly pattern: string | null;
  /** The stage at fault where it differs: ttgir, behind ttgir or unknown. */
  readonly stage: string | null;
  readonly stage_reason: string | null;
  readonly has_map: boolean;
}

/**
 * The largest error of each part of a tensor, relative to the root mean square of it.
 *
 * Row by row; null is an infinite error, as of a NaN.
 */
export interface ErrorMap {
  readonly columns: number;
  readonly errors: readonly (number | null)[];
}
