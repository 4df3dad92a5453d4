// Rows of the block "checks/index", and what the report knows of their calls.

import { page } from "@report/data/page";
import type { Argument, Variant } from "@report/data/types";
import type { CheckRow } from "../model";

export const CHECKS = "checks/index";

export function variantOf(row: CheckRow): Variant | undefined {
  return page.report.variants[page.report.calls[row.call ?? -1]?.variant ?? -1];
}

export function kernelOf(row: CheckRow): number {
  return variantOf(row)?.kernel ?? -1;
}

const STAGES: Readonly<Record<string, string>> = {
  ttgir: "passes up to TTGIR",
  "behind ttgir": "behind TTGIR",
  unknown: "not known",
};

/** The compiler's stage at fault, in a word or two; null where it is not known. */
export const stageOf = ({ stage }: CheckRow): string | null =>
  stage === null ? null : (STAGES[stage] ?? stage);

/** The tensor that was compared. */
export function tensorOf(row: CheckRow): Argument | undefined {
  const call = page.report.calls[row.call ?? -1];
  return page.report.arguments[call?.args[row.arg ?? -1] ?? -1];
}

/** Which of so many rows, or columns, a cell covers: the first, and one past the last. */
export function spanOfCell(cell: number, cells: number, of: number): [number, number] {
  return [Math.floor((cell * of) / cells), Math.floor(((cell + 1) * of) / cells)];
}
