// What a block "call/<call>" holds: what each op of a call did, and where its accesses went.
//
// From `kvtrace replay`; docs/accesses.md says how `layout` is to be read. null is "not known".

export interface Op {
  /** Position in the generic TTIR, which is the order of the program. */
  readonly index: number;
  readonly stack: number | null;
  readonly op: string;
  readonly kind: string | null;
  readonly dtype: string | null;
  /** The loop around it, by that op's index. */
  readonly loop: number | null;
  readonly executions: number | null;
  /** Lanes over all executions, those that a mask turns off among them. */
  readonly elements: number | null;
  readonly masked_off: number | null;
  readonly bytes: number | null;
  readonly unique_bytes: number | null;
  readonly sectors: number | null;
  readonly flops: number | null;
  /** The argument that a memory op goes to. */
  readonly buffer: string | null;
}

export interface Loop {
  readonly index: number;
  readonly stack: number | null;
  readonly min: number | null;
  readonly median: number | null;
  readonly max: number | null;
}

/** [how many, step of the id, step of the address in bytes]. */
export type IdLevel = readonly [count: number, id: number, bytes: number];

export interface Layout {
  readonly base: number;
  readonly programs?: readonly [first: number, levels: readonly IdLevel[]];
  readonly trips?: readonly [first: number, levels: readonly IdLevel[]];
  readonly lanes?: readonly (readonly [extent: number, stride: number])[];
  readonly box?: readonly (readonly [first: number, end: number])[];
  readonly active?: readonly (readonly [first: number, count: number])[] | null;
  readonly runs?:
    | readonly (readonly [offset: number, count: number, step: number, times: number, by: number])[]
    | null;
}

export interface Access {
  readonly op: number;
  readonly arg: string | null;
  readonly program: number | null;
  readonly iteration: number | null;
  /** Byte offsets from the argument's data pointer. */
  readonly first: number | null;
  readonly last: number | null;
  readonly active: number | null;
  readonly layout: Layout | null;
}

/** One product C[m, n] = A[m, k] · B[k, n] in each execution. */
export interface Dot {
  readonly op: number;
  readonly m: number | null;
  readonly n: number | null;
  readonly k: number | null;
  readonly a: number | null;
  readonly a_transposed: boolean;
  readonly b: number | null;
  readonly b_transposed: boolean;
  readonly c: number | null;
  readonly loop: number | null;
}

export interface Histogram {
  readonly elements: number;
  readonly edges: readonly number[];
  readonly counts: readonly number[];
  readonly nan: number;
  readonly inf: number;
  readonly zeros: number;
  readonly min: number | null;
  readonly max: number | null;
  readonly mean: number | null;
}

/** A tensor as it was before the call's first launch; "tensor/<artifact>" holds its storage. */
export interface RecordedTensor {
  readonly arg: number;
  readonly name: string | null;
  readonly artifact: string;
  readonly dtype: string | null;
  readonly offset_bytes: number;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly histogram: Histogram | null;
}

export interface CallBlock {
  readonly ops: readonly Op[];
  readonly loops: readonly Loop[];
  readonly accesses: readonly Access[];
  readonly dots: readonly Dot[];
  readonly values: readonly RecordedTensor[];
}
