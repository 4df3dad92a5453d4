// The data of the page, as it reads it: `model.ts`, which is written from Python's dataclasses, and
// the blocks that no dataclass describes. In columns -1 means "none".

import type { Call, LineLinks, Report } from "./model";

export type * from "./model";

export type Grid = Call["grid"];
export type Stack = Report["stacks"][number];
/** File, line from 1, function; innermost first in a stack. */
export type Frame = Stack[number];

export type Column = Uint8Array | Uint16Array | Uint32Array | Float64Array;

/** The block "launches": one row a launch, in order of time. */
export interface SliceColumns {
  readonly begin: Column;
  readonly duration: Column;
  readonly kernel: Column;
  readonly call: Column;
  readonly track: Column;
  readonly phase: Column;
  readonly seq: Column;
}

/** The block "device". */
export interface ExecutionColumns extends SliceColumns {
  /** `seq` of the launch that caused it, in its run; -1 where that is not known. */
  readonly launch: Column;
  /** Place in `Report.device_names`. */
  readonly name: Column;
}

/** A block "bins/<table>": counts and busy time of each track, bin and key. */
export interface BinColumns {
  readonly track: Column;
  readonly bin: Column;
  /** A kernel or -1; of executions without one the number of kernels plus the place of the name. */
  readonly key: Column;
  readonly count: Column;
  readonly busy: Column;
}

/** A block "texts/<number>": a source file or a compiler stage. */
export interface Text {
  readonly text: string;
  readonly links: LineLinks | null;
}
