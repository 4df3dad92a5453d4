// Written by model_types.py from the dataclasses that fill the page; `make frontend` does so again.
//
// null means "not known" and is never shown as a zero. Times are whole nanoseconds, sizes bytes. An
// index is a place in one of the report's arrays.

import type { Position } from "@report/data/types";

/** A row of the list: the call's place in the report, and how much was in use at most. */
export interface CallAtAGlance {
  readonly call: number;
  readonly kernel: string;
  readonly target: string;
  readonly executed: number;
  readonly usage: readonly Usage[];
}

/** What the view of one call shows; the stacks of tiles are places in the report. */
export interface CallBlock {
  readonly memory: OnChipCall;
  readonly tiles_left_out: number;
  readonly ops: readonly OpWork[];
  /** In the order of the program, each before those inside it. */
  readonly loops: readonly LoopAround[];
  readonly sequence: Sequence;
  readonly roof: TargetRoof | null;
}

/**
 * What a tile held at the end: the first elements of its first partitions, by partition.
 *
 * A value is null where it was never written, and a word where it is not a finite number.
 */
export interface TileValues {
  readonly tile: number;
  readonly dtype: string;
  readonly partitions: number;
  readonly elements: number;
  readonly rows: readonly (readonly (number | string | null)[])[];
}

/**
 * How much of a memory is in use: `amounts[i]` from order `orders[i]` to the next one.
 *
 * `limit` and `amounts` count bytes of one partition (SBUF) or banks of one partition (PSUM).
 */
export interface Usage {
  readonly space: string;
  readonly unit: string;
  readonly limit: number;
  readonly peak: number;
  readonly orders: readonly number[];
  readonly amounts: readonly number[];
}

/** On-chip memory of one call, by order of its executed ops (0 to `executed` - 1). */
export interface OnChipCall {
  readonly run: string;
  readonly call_id: number;
  readonly kernel: string;
  readonly target: string;
  readonly executed: number;
  readonly usage: readonly Usage[];
  readonly tiles: readonly Tile[];
  readonly flows: readonly Flow[];
  readonly engines: readonly EngineWork[];
}

/** An op of a call, its engine, and the tiles and tensors that it reads and writes by name. */
export interface OpWork {
  readonly op_index: number;
  readonly op: string;
  readonly engine: string | null;
  readonly dtype: string | null;
  readonly stack: number | null;
  readonly executions: number;
  readonly flops: number;
  readonly device_bytes: number;
  readonly chip_bytes: number;
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  /** Numbers of tiles and tensors that it reads or writes. */
  readonly touched: readonly number[];
  /** Its arithmetic at the engine's rate, or its transfers at the memory's, over the call. */
  readonly best_ns: number | null;
}

/** A loop of a call, by its op_index, and the one around it; the most trips of an execution. */
export interface LoopAround {
  readonly index: number;
  readonly loop: number | null;
  readonly kind: string;
  readonly name: string | null;
  readonly stack: number | null;
  readonly trips: number;
}

/**
 * The first executed ops, each by its op, program and iteration, in their order.
 *
 * An iteration is a place in the other three columns: its loop, which trip of it, and the iteration
 * around. At place 0 is what is outside of all loops, with -1 for loop and trip.
 */
export interface Sequence {
  readonly op: readonly number[];
  readonly program: readonly number[];
  readonly iteration: readonly number[];
  readonly loop: readonly number[];
  readonly trip: readonly number[];
  readonly around: readonly number[];
}

/**
 * Where the call is under the published limits of what it is for: one core of the target.
 *
 * Rates are per second; the position is in nanoseconds of one launch, null where not known.
 */
export interface TargetRoof {
  readonly name: string;
  readonly source: string;
  readonly bandwidth: number;
  readonly matrix: Readonly<Record<string, number>>;
  readonly vector: Readonly<Record<string, number>>;
  readonly flops: number;
  readonly unique_bytes: number | null;
  readonly position: Position | null;
}

/**
 * A buffer of SBUF or PSUM: its size, and the orders of the first and last op that used it.
 *
 * `amount` is what it takes of the memory's limit: bytes of a partition of SBUF, banks of PSUM.
 */
export interface Tile {
  readonly number: number;
  readonly space: string;
  readonly name: string | null;
  readonly bytes: number;
  readonly partitions: number;
  readonly amount: number;
  readonly first: number;
  readonly last: number;
  readonly stack_id: number | null;
}

/** Bytes that ops wrote to one memory from what they read in another, over the whole call. */
export interface Flow {
  readonly source: string;
  readonly target: string;
  readonly bytes: number;
  readonly executions: number;
}

/**
 * What an engine executed, over the whole call.
 *
 * `busy_ns` is the least time that its published rates allow, `share` that of the busiest engine's;
 * null where they are not known (`chip_profile.py`).
 */
export interface EngineWork {
  readonly engine: string;
  readonly executions: number;
  readonly elements: number;
  readonly flops: number;
  readonly device_bytes: number;
  readonly chip_bytes: number;
  readonly busy_ns: number | null;
  readonly share: number | null;
}
