// Written by model_types.py from the dataclasses that fill the page; `make frontend` does so again.
//
// null means "not known" and is never shown as a zero. Times are whole nanoseconds, sizes bytes. An
// index is a place in one of the report's arrays.

/** The block `graph/<variant>`. */
export interface GraphBlock {
  readonly measured: boolean;
  readonly graphs: readonly GraphColumns[];
}

/** One graph as columns, a value for each op in order; body 0 is the traced function itself. */
export interface GraphColumns {
  readonly body: number;
  readonly owner: BodyOwner | null;
  readonly opcodes: readonly string[];
  readonly dtypes: readonly string[];
  readonly opcode: readonly number[];
  readonly dtype: readonly number[];
  readonly shape: readonly (readonly number[])[];
  readonly operands: readonly (readonly number[])[];
  readonly stack: readonly (number | null)[];
  readonly bytes: readonly number[];
  readonly read: readonly number[];
  readonly written: readonly number[];
  readonly flops: readonly number[];
  readonly live: readonly number[];
  readonly names: Readonly<Record<string, OpNames>>;
  readonly attributes: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly totals: GraphTotals;
}

/** The op that a body belongs to, and the body's role. */
export interface BodyOwner {
  readonly body: number;
  readonly op: number;
  readonly role: string;
}

/** An op's names as input and as output of the graph, and the input that it is written into. */
export interface OpNames {
  readonly input: string | null;
  readonly output: string | null;
  readonly aliases: string | null;
}

/** Figures of a whole graph. */
export interface GraphTotals {
  readonly bytes: number;
  readonly flops: number;
  readonly boundary_bytes: number;
  readonly peak_live_bytes: number;
  readonly peak_op: number | null;
  readonly unknown_loops: number;
}
