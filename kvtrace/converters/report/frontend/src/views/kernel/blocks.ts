// The blocks that this view reads: "lines/<variant>" and "kernel/<kernel>".

/** What the ops of a line, or of one op, did over all runs of a variant; null is "not known". */
export interface LineFigures {
  /** Share of the sum of all ops' times at best; not timed. */
  readonly time_share: number | null;
  readonly bytes: number | null;
  readonly unique_bytes: number | null;
  readonly flops: number | null;
  /** Share of the lanes that were switched off. */
  readonly masked_share: number | null;
  /** Share of the bytes of touched sectors that were asked for. */
  readonly sector_efficiency: number | null;
  /** Places of the ops in the TTIR. */
  readonly ops: readonly number[];
}

export interface SourceLineFigures extends LineFigures {
  /** Whether an op stands here itself; else it was only inlined into this line. */
  readonly own: boolean;
}

interface OpLineFigures extends LineFigures {
  readonly op: string;
}

/** The block "lines/<variant>" (converters/report/views/lines.py). */
export interface LinesBlock {
  readonly measured: boolean;
  readonly runs: number;
  readonly files: readonly {
    readonly path: string;
    /** By line from 1. */
    readonly lines: Readonly<Record<string, SourceLineFigures>>;
  }[];
  readonly ops: Readonly<Record<string, OpLineFigures>>;
  /** By stage: op → line from 1. */
  readonly stages: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** One configuration that an autotuner tried. */
export interface Trial {
  readonly variant: number;
  readonly configuration: Readonly<Record<string, string>>;
  readonly launches: number;
  /** On the device, without the first; null where those times were not recorded. */
  readonly median_ns: number | null;
  readonly kept: boolean;
}

/** The trials of a kernel on one set of arguments, the fastest first. */
export interface Tuning {
  readonly run: number;
  readonly arguments: string;
  readonly trials: readonly Trial[];
  /** Why one was kept. */
  readonly why: string;
}

/** A variant's binary went onto the device: how long that took. */
export interface Load {
  readonly variant: number;
  readonly begin: number | null;
  readonly duration_ns: number;
}

/** The block "kernel/<kernel>" (converters/report/views/kernel.py). */
export interface KernelBlock {
  readonly measured: boolean;
  readonly loads: readonly Load[];
  readonly tunings: readonly Tuning[];
}
