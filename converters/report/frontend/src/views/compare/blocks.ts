// What the block "compare" holds: the difference that `kvtrace diff` found (converters/diff/page.py).

import type { Change, Finding } from "../../data/types";

export interface Side {
  readonly label: string;
  readonly runs: readonly string[];
  readonly commit: string | null;
  readonly kernels: number;
}

/** A figure on both sides; null is "not known" there. */
export interface Metric {
  readonly name: string;
  readonly unit: string;
  readonly measured: boolean;
  readonly before: number | null;
  readonly after: number | null;
}

/** A line on each side with its number there; both are null where a side does not have it. */
export type Row = readonly [
  kind: "same" | "changed" | "removed" | "added" | "gap",
  beforeNumber: number | null,
  before: string | null,
  afterNumber: number | null,
  after: string | null,
];

interface SourceDifference {
  readonly removed: number;
  readonly added: number;
  readonly rows: readonly Row[];
}

export interface CodeDifference extends SourceDifference {
  readonly stage: string;
  /** Numbers that correspond to each other throughout, as block sizes do. */
  readonly substitutions: readonly (readonly [before: string, after: string])[];
  /** Lines that differ in nothing else; they are in neither `removed` nor `added`. */
  readonly substituted_lines: number;
}

/** A later stage that differs; its rows are a separate block, a CodeDifference. */
export interface AlignedStage {
  readonly stage: string;
  readonly removed: number;
  readonly added: number;
  readonly block: string;
}

/** A stage, and the blocks with its text on both sides, where they are on the page. */
export interface StageTexts {
  readonly stage: string;
  readonly before: string | null;
  readonly after: string | null;
}

export type Status = "added" | "removed" | "changed";

export interface CallChange extends Change {
  /** In how many unique calls. */
  readonly calls: number;
}

export interface VariantDifference {
  readonly status: Status;
  readonly label: string;
  readonly changes: readonly Change[];
  readonly resources: readonly Metric[];
  readonly work: readonly Change[];
  /** Times beyond `--time-threshold`; empty without it. */
  readonly times: readonly Change[];
  readonly metrics: readonly Metric[];
  readonly calls: readonly CallChange[];
  readonly calls_unread: number;
  readonly calls_added: number;
  readonly calls_removed: number;
  readonly code: CodeDifference | null;
  /** What differs in each stage, as text: ops added, removed, moved; classes of instructions. */
  readonly stages: readonly { readonly stage: string; readonly words: string }[];
  readonly aligned: readonly AlignedStage[];
  readonly texts: readonly StageTexts[];
}

export interface KernelDifference {
  readonly status: Status;
  readonly name: string;
  readonly module: string | null;
  readonly file: string | null;
  readonly line: number | null;
  /** Place in `Report.kernels`; null where AFTER does not have it. */
  readonly kernel: number | null;
  /** Its name in BEFORE, where that is another; found by how alike source and IR are, 0 to 1. */
  readonly renamed_from: string | null;
  readonly similarity: number | null;
  readonly changes: readonly Change[];
  readonly metrics: readonly Metric[];
  readonly source: SourceDifference | null;
  readonly variants: readonly VariantDifference[];
}

export interface FindingDifference {
  readonly status: "new" | "gone";
  readonly finding: Finding;
}

/** A line of the headline, worst first; values, by and sure are texts. */
export interface HeadlineRow {
  readonly kernel: string;
  readonly level: string;
  readonly what: string;
  readonly share: number | null;
  readonly direction: "worse" | "better" | "changed";
  readonly certainty: "measured" | "derived" | "exact";
  readonly values: string;
  readonly by: string;
  readonly sure: string;
}

export interface BoundChange {
  readonly kernel: string;
  readonly what: string;
  readonly before: number | string | null;
  readonly after: number | string | null;
  readonly direction: "worse" | "better" | "changed";
  readonly text: string;
}

export interface Gate {
  readonly rules: readonly string[];
  readonly failures: readonly {
    readonly rule: string;
    readonly what: string;
    readonly text: string;
  }[];
  readonly not_judged: readonly string[];
}

export interface Answer {
  readonly question: string;
  readonly word: "yes" | "no" | "not known";
  readonly text: string;
}

/** All executions under one name; the metric is their device time. */
export interface DeviceWork {
  readonly name: string;
  /** Triton or another origin, a library's name, copy or fill. */
  readonly kind: string;
  readonly metric: Metric;
}

export interface Comparison {
  readonly empty: boolean;
  /** Faster, same results, safe, and so whether it may be merged. */
  readonly answers: readonly Answer[];
  /** How much differs, in one line. */
  readonly summary: string;
  readonly headline: readonly HeadlineRow[];
  readonly gate: Gate;
  readonly bounds: readonly BoundChange[];
  /** Why conditions for all sizes are not compared; "" where they are. */
  readonly bounds_unjudged: string;
  readonly before: Side;
  readonly after: Side;
  readonly metrics: readonly Metric[];
  readonly same_kernels: number;
  /** Which sides were not judged, so that their findings are not known; "" if both were. */
  readonly unjudged: string;
  readonly kernels: readonly KernelDifference[];
  readonly findings: readonly FindingDifference[];
  readonly times: readonly { readonly name: string; readonly metrics: readonly Metric[] }[];
  /** All device time by name, the total first; empty if kernels' times are all. */
  readonly device: readonly DeviceWork[];
  readonly context: readonly Change[];
  readonly notes: readonly string[];
}
