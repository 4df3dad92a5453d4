// Rows of the block "invariance/index", and what the report knows of their kernels.

import { page } from "@report/data/page";
import type { InvarianceRow } from "../model";

export const INDEX = "invariance/index";

/** Variant of a call; -1 where the page has no such call. */
export function variantOf({ call }: { readonly call: number | null }): number {
  return page.report.calls[call ?? -1]?.variant ?? -1;
}

export function kernelOf(row: Pick<InvarianceRow, "call">): number {
  return page.report.variants[variantOf(row)]?.kernel ?? -1;
}
