// All that a view can read: the report's figures at once, then its columns, and lazily every other
// block.

import { signal } from "@preact/signals";
import { blockNames, bytesBlock, columnsBlock, hasBlock, jsonBlock } from "./blocks";
import type { BinColumns, ExecutionColumns, Report, SliceColumns } from "./types";

/** The block of a page that is no report of a trace (`converters/report/document.py`). */
export const DOCUMENT = "document";

/** The rows of the timeline; what does not fit is counted in bins, by table. */
interface Rows {
  readonly launches: SliceColumns;
  readonly device: ExecutionColumns;
  readonly bins: Readonly<Record<Table, BinColumns | null>>;
}

/** The tables of the trace that the timeline shows. */
export type Table = "launches" | "gpu_kernels";

/** Its rows are those of the timeline: only views within `WithRows` may ask for them. */
export interface Page extends Rows {
  readonly report: Report;
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

/** Whether launches and executions are read. */
export const rowsRead = signal(false);

let rows: Rows | null = null;

function readRows(): Rows {
  if (!rows) throw new Error("launches are not read yet");
  return rows;
}

/** Read what every view needs at once: all but launches and executions. */
export async function readPage(): Promise<void> {
  page = {
    report: await jsonBlock<Report>("report"),
    get launches() {
      return readRows().launches;
    },
    get device() {
      return readRows().device;
    },
    get bins() {
      return readRows().bins;
    },
    has: hasBlock,
    names: blockNames,
    block: jsonBlock,
    bytes: bytesBlock,
  };
}

/** Read launches and executions. */
export async function readTimeline(): Promise<void> {
  const binsOf = (table: Table): Promise<BinColumns> | null =>
    hasBlock(`bins/${table}`) ? columnsBlock<BinColumns>(`bins/${table}`) : null;
  const [launches, device, ofLaunches, ofDevice] = await Promise.all([
    columnsBlock<SliceColumns>("launches"),
    columnsBlock<ExecutionColumns>("device"),
    binsOf("launches"),
    binsOf("gpu_kernels"),
  ]);
  rows = { launches, device, bins: { launches: ofLaunches, gpu_kernels: ofDevice } };
  rowsRead.value = true;
}
