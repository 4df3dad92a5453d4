// The block "lines/<variant>" (converters/report/views/lines.py).

import type { LineFigures } from "../../data/types";

export interface SourceLineFigures extends LineFigures {
  /** Whether an op is of this line itself; else it was only inlined into it. */
  readonly own: boolean;
  /** By names of figures: values, and reasons why others are unknown. */
  readonly layout: {
    readonly values: Readonly<Record<string, number>>;
    readonly unknown: Readonly<Record<string, string>>;
    readonly by_model: boolean;
  };
}

interface LayoutFigure {
  readonly name: string;
  readonly unit: "count" | "bytes";
  readonly label: string;
  readonly meaning: string;
}

interface OpLineFigures extends LineFigures {
  readonly op: string;
}

export interface LinesBlock {
  readonly measured: boolean;
  readonly runs: number;
  readonly layout_figures: readonly LayoutFigure[];
  readonly files: readonly {
    readonly path: string;
    /** By line from 1. */
    readonly lines: Readonly<Record<string, SourceLineFigures>>;
  }[];
  readonly ops: Readonly<Record<string, OpLineFigures>>;
  /** By stage: op → line from 1. */
  readonly stages: Readonly<Record<string, Readonly<Record<string, number>>>>;
}
