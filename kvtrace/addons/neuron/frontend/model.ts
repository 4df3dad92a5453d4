// Written by model_types.py from the dataclasses that fill the page; `make frontend` does so again.
//
// null means "not known" and is never shown as a zero. Times are whole nanoseconds, sizes bytes. An
// index is a place in one of the report's arrays.

import type { Position } from "@report/data/types";

/** A row of the list of calls: the call's number in the report, and its peaks of memory. */
export interface CallSummary {
  readonly call: number;
  readonly kernel: string;
  readonly target: string;
  readonly executed: number;
  readonly usage: readonly Usage[];
}

/** The data of the view of one call; stacks are numbers of the report's stacks. */
export interface CallBlock {
  readonly memory: OnChipCall;
  readonly tiles_left_out: number;
  readonly ops: readonly OpWork[];
  /** Loops in program order, each before the loops inside. */
  readonly loops: readonly NestedLoop[];
  readonly sequence: Sequence;
  readonly roof: TargetRoof | null;
}

/**
 * The final contents of a tile: the first elements of its first partitions, by partition.
 *
 * A value is null if it was never written, and a string if it is not finite.
 */
export interface TileValues {
  readonly tile: number;
  readonly dtype: string;
  readonly partitions: number;
  readonly elements: number;
  readonly rows: readonly (readonly (number | string | null)[])[];
}

/**
 * A memory's amount in use: `amounts[i]` from order `orders[i]` to the next order.
 *
 * `limit` and `amounts` count bytes per partition (SBUF) or banks (PSUM).
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

/** An op of a call, its engine, and the names of tiles and tensors that it reads and writes. */
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
  /** Numbers of tiles and tensors that the op reads or writes. */
  readonly touched: readonly number[];
  /** Time of the op's arithmetic at the engine's rate, or of its transfers, over the call. */
  readonly best_ns: number | null;
}

/** A loop of a call, by op_index; `loop` is the loop around it, `trips` its most trips. */
export interface NestedLoop {
  readonly index: number;
  readonly loop: number | null;
  readonly kind: string;
  readonly name: string | null;
  readonly stack: number | null;
  readonly trips: number;
}

/**
 * The first executed ops in order, each with its op, program and iteration.
 *
 * An iteration is an index of the other three columns: the loop, the trip, and the iteration
 * around. Index 0 stands for outside of all loops, with -1 for loop and trip.
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
 * The call's position under the published limits of one core of the target.
 *
 * Rates are per second; the position is in nanoseconds of one launch, null if unknown.
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
 * A buffer in SBUF or PSUM: its size, and the orders of the first and last op that use it.
 *
 * `amount` counts toward the memory's limit: bytes per partition of SBUF, or banks of PSUM.
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

/** Bytes that ops read in one memory and wrote to another, summed over the call. */
export interface Flow {
  readonly source: string;
  readonly target: string;
  readonly bytes: number;
  readonly executions: number;
}

/**
 * The work that an engine executed, summed over the call.
 *
 * `busy_ns` is the shortest time that published rates allow, `share` the share of the busiest
 * engine's time; null if not published (`chip_profile.py`).
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
