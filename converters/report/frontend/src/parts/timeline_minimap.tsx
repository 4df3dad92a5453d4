// The whole timeline in one line: how busy it was, and which part of it is in view.

import { useCallback, useMemo, useState } from "preact/hooks";
import { page } from "../data/page";
import { Canvas, type Drawing } from "./canvas";
import type { Range, TimelineScene } from "./timeline_scene";
import type { Visit } from "./timeline_tree";

interface MinimapProps {
  readonly scene: TimelineScene;
  readonly range: Range;
  /** Show a part around a time. */
  onMove(time: number): void;
}

const HEIGHT = 28;
/** Pixels of what was busy at all, and of the part in view. */
const [LEAST, NARROWEST] = [2, 4];

export function Minimap({ scene, range, onMove }: MinimapProps) {
  const [width, setWidth] = useState(0);
  const span = Math.max(page.report.span_ns, 1);
  const room = Math.max(Math.ceil(width - scene.gutter), 1);
  const shares = useMemo(() => busyShares(scene, span, room), [scene, span, room]);
  const draw = useCallback(
    (drawing: Drawing) => {
      setWidth(drawing.width);
      paint(drawing, shares, scene.gutter);
    },
    [shares, scene],
  );
  const place = (time: number): number =>
    scene.gutter + Math.min(Math.max(time / span, 0), 1) * room;
  const [left, right] = [place(range.begin), place(range.end)];
  // an element, so that moving the view draws nothing again
  const wide = Math.max(right - left, NARROWEST);
  const frame = {
    insetInlineStart: `${Math.min(left, width - wide)}px`,
    inlineSize: `${wide}px`,
  };
  const move = (event: PointerEvent): void => {
    if (event.buttons & 1) onMove(((event.offsetX - scene.gutter) / room) * span);
  };
  return (
    <div class="minimap">
      <Canvas
        id="timeline-minimap"
        label="The whole timeline, with a frame around the part in view"
        height={HEIGHT}
        draw={draw}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          move(event);
        }}
        onPointerMove={move}
      />
      <span class="minimap-frame" aria-hidden="true" style={frame} />
    </div>
  );
}

/** For each pixel the share of its time in which devices were busy, or launches ran without any. */
function busyShares(scene: TimelineScene, span: number, width: number): Float64Array {
  const shares = new Float64Array(width);
  const device = scene.rows.some(({ kind }) => kind === "device");
  const add = (pixel: number, busy: number): void => {
    shares[pixel] = (shares[pixel] ?? 0) + busy;
  };
  for (const row of scene.rows) {
    if (row.kind !== (device ? "device" : "launch")) continue;
    const share: Visit = (begin, end, _key, _count, busy) => {
      const [from, to] = [(begin / span) * width, (end / span) * width];
      const each = busy / (to - from || 1);
      const last = Math.min(to, width);
      for (let pixel = Math.max(Math.floor(from), 0); pixel < last; pixel += 1)
        add(pixel, each * (Math.min(to, pixel + 1) - Math.max(from, pixel)));
    };
    scene.each(row, { begin: 0, end: span }, share, span / width, true);
  }
  return shares.map((busy) => Math.min((busy * width) / span, 1));
}

function paint({ context, width, colors }: Drawing, shares: Float64Array, gutter: number): void {
  context.fillStyle = colors.muted;
  context.fillText("all", 4, HEIGHT / 2);
  context.fillStyle = colors.track;
  context.fillRect(gutter, 0, width - gutter, HEIGHT);
  context.fillStyle = colors["no-kernel"];
  shares.forEach((share, pixel) => {
    const tall = share > 0 ? Math.max(share * HEIGHT, LEAST) : 0;
    context.fillRect(gutter + pixel, HEIGHT - tall, 1, tall);
  });
}
