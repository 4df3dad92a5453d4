// How busy each thread and stream is in the part of the timeline that is shown.

import { useMemo } from "preact/hooks";
import { figure, sharedFigure } from "./columns";
import { type Column, Table } from "./table";
import { lowerBound, type Row, rowNouns } from "./timeline_rows";
import type { Range, TimelineScene } from "./timeline_scene";

interface Busy {
  readonly row: Row;
  count: number;
  /** Time in view in which at least one slice ran. */
  busy: number;
  /** The longest time in view in which none did, between two slices. */
  gap: number | null;
}

export function RowsInView({ scene, range }: { scene: TimelineScene; range: Range }) {
  const rows = useMemo(() => scene.rows.map((row) => busyTime(scene, row, range)), [scene, range]);
  const span = Math.min(range.end, scene.page.report.span_ns) - Math.max(range.begin, 0);
  const columns: Column<Busy>[] = [
    { label: "Row", cell: (each) => each.row.label, key: (each) => each.row.label },
    { label: "Of", cell: (each) => rowNouns(each.row)[1], key: (each) => each.row.kind },
    figure("in view", "measured", (each) => each.count),
    figure("busy", "measured", (each) => each.busy, "ns", "Time in which at least one ran"),
    sharedFigure("of the view", "measured", (each) => each.busy, span),
    figure("longest gap", "measured", (each) => each.gap, "ns", "Longest time between two of them"),
  ];
  return <Table caption="Rows of the timeline in view" columns={columns} rows={rows} height={16} />;
}

function busyTime(scene: TimelineScene, row: Row, range: Range): Busy {
  const found: Busy = { row, count: 0, busy: 0, gap: null };
  if (scene.isBinned(row, range)) addBins(scene, found, range);
  else addSlices(found, range);
  return found;
}

function addBins({ page, binWidth }: TimelineScene, found: Busy, range: Range): void {
  if (!page.bins) return;
  for (const bin of found.row.bins) {
    const begin = (page.bins.bin[bin] as number) * binWidth;
    if (begin + binWidth < range.begin || begin > range.end) continue;
    found.count += page.bins.count[bin] as number;
    found.busy += page.bins.busy[bin] as number;
  }
}

function addSlices(found: Busy, range: Range): void {
  const { row } = found;
  const last = lowerBound(row.begin, range.end);
  let reached: number | null = null;
  for (let index = lowerBound(row.reach, range.begin); index < last; index += 1) {
    const begin = Math.max(row.begin[index] as number, range.begin);
    const end = Math.min(row.end[index] as number, range.end);
    if (end < range.begin) continue;
    found.count += 1;
    if (reached !== null && begin > reached) found.gap = Math.max(found.gap ?? 0, begin - reached);
    found.busy += Math.max(0, end - Math.max(begin, reached ?? begin));
    reached = Math.max(reached ?? end, end);
  }
}
