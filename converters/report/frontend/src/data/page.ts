// All that a view can read: the report's figures, its columns, and lazily every other block.

import { blockNames, bytesBlock, columnsBlock, hasBlock, jsonBlock } from "./blocks";
import type { BinColumns, ExecutionColumns, Report, SliceColumns } from "./types";

export interface Page {
  readonly report: Report;
  readonly launches: SliceColumns;
  readonly device: ExecutionColumns;
  readonly bins: BinColumns | null;
  /** Whether there is a block of that name. */
  has(name: string): boolean;
  /** The names of all blocks that begin so. */
  names(prefix: string): string[];
  /** A JSON block; decoded once. */
  block<T>(name: string): Promise<T>;
  /** A block of plain bytes; decoded once. */
  bytes(name: string): Promise<ArrayBuffer>;
}

/** The one page that there is, once it was read. */
export let page: Page;

/** Read what every view needs at once. */
export async function readPage(): Promise<void> {
  const [report, launches, device, bins] = await Promise.all([
    jsonBlock<Report>("report"),
    columnsBlock<SliceColumns>("launches"),
    columnsBlock<ExecutionColumns>("device"),
    hasBlock("bins") ? columnsBlock<BinColumns>("bins") : null,
  ]);
  page = {
    report,
    launches,
    device,
    bins,
    has: hasBlock,
    names: blockNames,
    block: jsonBlock,
    bytes: bytesBlock,
  };
}
