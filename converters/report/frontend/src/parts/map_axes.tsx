// Names and ticks beside a map of cells: which axis goes along, and which rows and columns are seen.

import type { ComponentChildren } from "preact";
import { formatCount, niceStep } from "../data/format";
import type { Seen } from "./movable";

export interface AxisNames {
  readonly rows: string;
  readonly columns: string;
}

interface MapAxesProps {
  readonly names: AxisNames;
  readonly seen: Seen;
  readonly rows: readonly [first: number, end: number];
  readonly columns: number;
  readonly width: number;
  readonly height: number;
  readonly children: ComponentChildren;
}

/** Pixels from tick to tick at least. */
const [ACROSS, DOWN] = [72, 36];

export function MapAxes(props: MapAxesProps) {
  const { names, seen, rows, columns, children } = props;
  const down = ticksOf(seen.y, seen.down, props.height, DOWN, rows);
  const across = ticksOf(seen.x, seen.across, props.width - ACROSS / 2, ACROSS, [0, columns]);
  return (
    <div class="map-axes">
      <span class="map-names small muted">
        ↓ {names.rows} <span class="map-columns">→ {names.columns}</span>
      </span>
      <div class="map-ticks across" aria-hidden="true">
        {across.map(([place, pixel]) => (
          <span key={place} style={{ insetInlineStart: `${pixel}px` }}>
            {formatCount(place)}
          </span>
        ))}
      </div>
      <div class="map-ticks down" aria-hidden="true">
        {down.map(([place, pixel]) => (
          <span key={place} style={{ insetBlockStart: `${pixel}px` }}>
            {formatCount(place)}
          </span>
        ))}
      </div>
      {children}
    </div>
  );
}

/** Places with the pixel of their middle: the first that is seen, and round ones behind it. */
function ticksOf(
  from: number,
  size: number,
  pixels: number,
  apart: number,
  [first, end]: readonly [number, number],
): (readonly [place: number, pixel: number])[] {
  const step = niceStep(apart / size);
  const found: (readonly [number, number])[] = [];
  for (let place = Math.ceil(Math.max(from, first) / step) * step; place < end; place += step) {
    const pixel = (place - from + 0.5) * size;
    if (pixel > pixels) break;
    found.push([place, pixel]);
  }
  return found;
}
