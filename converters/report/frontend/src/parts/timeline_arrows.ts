// Arrows from launches to what they caused on the device.

import { executionsOf, launchOf } from "../data/executions";
import type { Drawing } from "./canvas";
import { lowerBound, type Row, type Slice } from "./timeline_rows";

export interface Arrow {
  readonly launch: Slice;
  readonly execution: Slice;
}

const HEAD = 5;

/** The arrows of a launch, of an execution, or none. */
export function arrowsOf(rows: readonly Row[], { row, index }: Slice): Arrow[] {
  const at = row.indices?.[index] ?? -1;
  const launch = row.kind === "launch" ? at : row.kind === "device" ? launchOf(at) : null;
  if (launch === null) return [];
  const executions = row.kind === "launch" ? executionsOf(launch) : [at];
  const from = sliceOf(rows, "launch", launch);
  return executions.flatMap((execution) => {
    const to = sliceOf(rows, "device", execution);
    return from && to ? [{ launch: from, execution: to }] : [];
  });
}

/** The slice of a row of the page's launches or executions. */
function sliceOf(rows: readonly Row[], kind: "launch" | "device", at: number): Slice | null {
  for (const row of rows) {
    if (row.kind !== kind || !row.indices) continue;
    const index = lowerBound(row.indices, at);
    if (row.indices[index] === at) return { row, index };
  }
  return null;
}

/** A curve between two points of the canvas with a head at its end. */
export function drawArrow(
  { context }: Drawing,
  from: readonly [number, number],
  to: readonly [number, number],
): void {
  const bend = Math.max(Math.abs(to[0] - from[0]) / 2, 8);
  const up = to[1] < from[1] ? 1 : -1;
  context.beginPath();
  context.moveTo(...from);
  context.bezierCurveTo(from[0] + bend, from[1], to[0], to[1] + 2 * HEAD * up + bend * up, ...to);
  context.stroke();
  context.beginPath();
  context.moveTo(...to);
  context.lineTo(to[0] - HEAD / 1.5, to[1] + HEAD * up);
  context.lineTo(to[0] + HEAD / 1.5, to[1] + HEAD * up);
  context.fill();
}
