// How busy each thread and stream is in the part of the timeline that is shown.

import { useMemo } from "preact/hooks";
import { page } from "../data/page";
import { figure, sharedFigure, words } from "./columns";
import { type Column, Table } from "./table";
import { type Row, rowNouns } from "./timeline_rows";
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
  const span = Math.min(range.end, page.report.span_ns) - Math.max(range.begin, 0);
  const gap = "Longest time between two slices of the row";
  const columns: Column<Busy>[] = [
    words("Row", ({ row }) => row.label),
    words("Of", ({ row }) => rowNouns(row)[1]),
    figure("in view", "measured", ({ count }) => count),
    figure("busy", "measured", ({ busy }) => busy, "ns", "Time in which at least one slice ran"),
    sharedFigure("of the view", "measured", ({ busy }) => busy, span),
    figure("longest gap", "measured", (each) => each.gap, "ns", gap),
  ];
  return <Table caption="Rows of the timeline in view" columns={columns} rows={rows} height={16} />;
}

function busyTime(scene: TimelineScene, row: Row, range: Range): Busy {
  const found: Busy = { row, count: 0, busy: 0, gap: null };
  let reached: number | null = null;
  scene.each(row, range, (from, to, _key, count, busy, index) => {
    found.count += count;
    if (index < 0) {
      found.busy += busy;
      return;
    }
    const [begin, end] = [Math.max(from, range.begin), Math.min(to, range.end)];
    if (reached !== null && begin > reached) found.gap = Math.max(found.gap ?? 0, begin - reached);
    found.busy += Math.max(0, end - Math.max(begin, reached ?? begin));
    reached = Math.max(reached ?? end, end);
  });
  return found;
}
