// What the blocks "onchip/…" hold (converters/report/views/on_chip.py). Time is the order of
// executed ops: kernels of NKI ran on NumPy, and there is no clock.

export interface Usage {
  readonly space: "sbuf" | "psum";
  /** What is counted of one partition: bytes of SBUF, banks of PSUM. */
  readonly unit: string;
  readonly limit: number;
  readonly peak: number;
  readonly orders: readonly number[];
  /** In use from the order of the same place to the next one. */
  readonly amounts: readonly number[];
}

export interface Tile {
  readonly number: number;
  readonly space: "sbuf" | "psum";
  readonly name: string | null;
  readonly bytes: number;
  readonly partitions: number;
  readonly amount: number;
  readonly first: number;
  readonly last: number;
  /** Place in `Report.stacks`. */
  readonly stack_id: number | null;
}

export interface Flow {
  readonly source: string;
  readonly target: string;
  readonly bytes: number;
  readonly executions: number;
}

export interface EngineWork {
  readonly engine: string;
  readonly executions: number;
  readonly elements: number;
  readonly flops: number;
  readonly device_bytes: number;
  readonly chip_bytes: number;
}

export interface Memory {
  readonly kernel: string;
  readonly target: string;
  readonly executed: number;
  readonly usage: readonly Usage[];
  readonly tiles: readonly Tile[];
  readonly flows: readonly Flow[];
  readonly engines: readonly EngineWork[];
}

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
  /** By the target's limits, over the call; null where a rate is not known. */
  readonly best_ns: number | null;
}

/** Where a call stands under the published limits of one core of its target. */
export interface TargetRoof {
  readonly name: string;
  readonly source: string;
  readonly bandwidth: number;
  readonly matrix: Readonly<Record<string, number>>;
  readonly vector: Readonly<Record<string, number>>;
  readonly flops: number;
  readonly unique_bytes: number | null;
  readonly position: {
    readonly memory_ns: number;
    readonly compute_ns: number;
    readonly best_ns: number;
    readonly bound: string;
  } | null;
}

export interface CallBlock {
  readonly memory: Memory;
  readonly tiles_left_out: number;
  readonly ops: readonly OpWork[];
  /** null where the target's limits are not known. */
  readonly roof: TargetRoof | null;
}

/** A row of "onchip/index". */
export interface CallAtAGlance {
  readonly call: number;
  readonly kernel: string;
  readonly target: string;
  readonly executed: number;
  readonly usage: readonly Usage[];
}

export const SPACES: Readonly<Record<string, string>> = {
  hbm: "device memory",
  sbuf: "SBUF",
  psum: "PSUM",
};
