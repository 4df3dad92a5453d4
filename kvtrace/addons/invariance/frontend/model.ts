// Written by model_types.py from the dataclasses that fill the page; `make frontend` does so again.
//
// null means "not known" and is never shown as a zero. Times are whole nanoseconds, sizes bytes. An
// index is a place in one of the report's arrays.

/** An output and its verdict; `number` names the block of its trees. */
export interface InvarianceRow {
  readonly number: number;
  readonly run: number;
  /** Index into `Report.calls`: a call of the kernel. */
  readonly call: number | null;
  readonly kernel: string;
  readonly output: string | null;
  readonly over: string;
  /** The line that asks for it; null: the rule was asked for by its name. */
  readonly contract: number | null;
  readonly verdict: string;
  readonly text: string;
  /** How trees of recorded sizes of the batch relate: same, equal, reassociated or different. */
  readonly relation: string | null;
  readonly trees: number;
  /** The element of the row to which the evaluator gives two values, each with its launch. */
  readonly element: number | null;
  readonly launches: readonly [string, string] | null;
  readonly values: readonly [string, string] | null;
}

/** The trees of an output, which share nodes; `left_out`: how many more there are. */
export interface InvarianceTrees {
  readonly nodes: readonly InvarianceNode[];
  readonly trees: readonly InvarianceTree[];
  readonly left_out: number;
}

/** A node of a tree: what it says, and its parts with what each is to it. */
export interface InvarianceNode {
  readonly kind: string;
  readonly text: string;
  /** Index into `Report.stacks`. */
  readonly stack: number | null;
  readonly parts: readonly number[];
  readonly roles: readonly string[];
}

/** The tree of an element at some sizes of the batch; `root` is a node. */
export interface InvarianceTree {
  readonly root: number;
  readonly call: number | null;
  readonly rows: readonly number[];
}
