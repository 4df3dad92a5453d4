// Bytes between device memory, SBUF and PSUM, as arrows between three boxes; the table beside it
// has the figures.

import { useCallback } from "preact/hooks";

import { formatBytes, plural } from "../../data/format";
import { Canvas, type Drawing } from "../../parts/canvas";
import type { Flow } from "../../data/types";
import { SPACES } from "./blocks";

const HEIGHT = 190;
const PLACES = ["hbm", "sbuf", "psum"] as const;
const THICKEST = 14;

export function FlowDiagram({ flows }: { flows: readonly Flow[] }) {
  const draw = useCallback((drawing: Drawing) => paint(drawing, flows), [flows]);
  const said = flows
    .map(
      (flow) =>
        `${SPACES[flow.source] ?? flow.source} to ${SPACES[flow.target] ?? flow.target} ${formatBytes(flow.bytes)}`,
    )
    .join("; ");
  return (
    <div class="onchip-flow">
      <Canvas
        label={`Flows between memories: ${said || "none"}. The table below has them`}
        height={HEIGHT}
        draw={draw}
      />
      <p class="small muted">
        Bytes that ops wrote, by where they read (derived); arrows are as thick as the logarithm.
      </p>
    </div>
  );
}

function paint({ context, width, height, colours }: Drawing, flows: readonly Flow[]): void {
  const [wide, tall] = [Math.min(120, width / 5), 44];
  const middle = (height - 10) / 2;
  const centre = (place: number): number => wide / 2 + 8 + (place * (width - wide - 16)) / 2;
  const most = Math.max(...flows.map(({ bytes }) => bytes), 1);
  const shown = flows.flatMap((flow) => {
    const [from, to] = [placeOf(flow.source), placeOf(flow.target)];
    return from < 0 || to < 0 ? [] : [{ flow, from, to }];
  });
  for (const { flow, from, to } of shown) {
    const right = to > from;
    const far = Math.abs(to - from) === 2;
    const lift = (right ? -1 : 1) * (far ? 62 : 12);
    const [start, end] = [
      centre(from) + (right ? wide : -wide) / 2,
      centre(to) + (right ? -wide : wide) / 2,
    ];
    const y = middle + lift;
    context.strokeStyle = right ? colours.accent : colours.fine;
    context.fillStyle = context.strokeStyle;
    context.lineWidth = Math.max(
      1.5,
      (THICKEST * Math.log(flow.bytes + 1)) / Math.log(most + 1) / 2,
    );
    context.beginPath();
    context.moveTo(start, middle + (far ? lift / 3 : lift));
    if (far)
      context.bezierCurveTo(
        start + (end - start) / 4,
        y + lift / 3,
        end - (end - start) / 4,
        y + lift / 3,
        end,
        middle + lift / 3,
      );
    else context.lineTo(end - (right ? 8 : -8), y);
    context.stroke();
    arrow(context, end, far ? middle + lift / 3 : y, right);
    context.fillStyle = colours.text;
    context.textAlign = "center";
    context.fillText(formatBytes(flow.bytes), (start + end) / 2, y + (right ? -14 : 14));
    context.textAlign = "start";
  }
  PLACES.forEach((space, place) => {
    context.fillStyle = colours.raised;
    context.strokeStyle = colours.muted;
    context.lineWidth = 1;
    context.fillRect(centre(place) - wide / 2, middle - tall / 2, wide, tall);
    context.strokeRect(centre(place) - wide / 2, middle - tall / 2, wide, tall);
    context.fillStyle = colours.text;
    context.textAlign = "center";
    context.fillText(SPACES[space] ?? space, centre(place), middle - 8);
    context.fillStyle = colours.muted;
    context.fillText(plural(opsInto(flows, space), "write"), centre(place), middle + 9);
    context.textAlign = "start";
  });
}

function placeOf(space: string): number {
  return PLACES.findIndex((each) => each === space);
}

function opsInto(flows: readonly Flow[], space: string): number {
  return flows.reduce((sum, flow) => (flow.target === space ? sum + flow.executions : sum), 0);
}

function arrow(context: CanvasRenderingContext2D, x: number, y: number, right: boolean): void {
  const back = right ? -10 : 10;
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x + back, y - 7);
  context.lineTo(x + back, y + 7);
  context.fill();
}
