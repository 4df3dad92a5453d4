// How many accesses got which verdict: the block "findings/verdicts", with the report's own counts
// to fall back on in pages that lack it.

import type { Report } from "../../data/types";

/** The block "findings/verdicts". */
export interface VerdictBlock {
  readonly measured: boolean;
  /** Kernel (-1: none that is known), rule, verdict, accesses over distinct calls. */
  readonly rows: readonly (readonly [kernel: number, rule: string, verdict: string, count: number])[];
}

export interface VerdictRow {
  readonly kernel: number;
  readonly proven: number;
  readonly violation: number;
  readonly unknown: number;
}

/** One row a kernel, those with violations first; suppressed ones count as what they are. */
export function verdictsByKernel(block: VerdictBlock, rule: string): VerdictRow[] {
  const rows = new Map<number, { kernel: number; proven: number; violation: number; unknown: number }>();
  for (const [kernel, of, verdict, count] of block.rows) {
    if (rule && of !== rule) continue;
    const row = rows.get(kernel) ?? { kernel, proven: 0, violation: 0, unknown: 0 };
    row[verdict === "proven" || verdict === "violation" ? verdict : "unknown"] += count;
    rows.set(kernel, row);
  }
  return [...rows.values()].sort(
    (a, b) => b.violation - a.violation || b.unknown - a.unknown || a.kernel - b.kernel,
  );
}

/** Accesses over distinct calls by verdict, suppressed ones apart. */
export function totals({ finding_counts: counts }: Report): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const { verdict, count } of counts ?? []) {
    sums.set(verdict ?? "unknown", (sums.get(verdict ?? "unknown") ?? 0) + count);
  }
  return sums;
}
