// The block "lines/<variant>" (converters/report/views/lines.py).

import type { LineFigures } from "../../data/types";

export interface SourceLineFigures extends LineFigures {
  /** Whether an op is of this line itself; else it was only inlined into it. */
  readonly own: boolean;
}

interface OpLineFigures extends LineFigures {
  readonly op: string;
}

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
