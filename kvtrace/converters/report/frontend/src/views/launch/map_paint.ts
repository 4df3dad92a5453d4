// Drawing a slice of a tensor: each place coloured by how often it is accessed, or by its value.

import { threeFigures } from "../../data/format";
import { clippedText, type Drawing } from "../../parts/canvas";
import { inkOn } from "../../parts/colours";
import type { Seen } from "../../parts/movable";
import { binsOf, type Counts } from "./counts";
import type { Scene } from "./map_colours";
import { type Paint, painter } from "./map_colours";
import { binSizes } from "./regions";
import type { Mark } from "./scene";
import type { Look } from "./tensor";
import { offsetAt, placeOf } from "./tensor";

type Rows = readonly [first: number, end: number];

const MOST_BESIDE = 24;
const MOST_SLICES_BESIDE = 4;

/** The look's rows, and those before and after it that accesses or marks go to. */
export function shownRows({ look, counts, lanes, marks }: Scene): Rows {
  const { rows, columns } = look;
  if (look.slices || rows.stride < columns.stride * columns.size) return [0, rows.size];
  const offsets = [...marks.map(({ offset }) => offset), counts.first, counts.last];
  if (lanes && counts.total === 0) offsets.push(lanes.first, lanes.last);
  const places = offsets
    .filter(Number.isFinite)
    .map((at) => Math.floor((at - look.start) / rows.stride));
  return [
    Math.max(-MOST_BESIDE, Math.min(0, ...places)),
    Math.min(rows.size + MOST_BESIDE, Math.max(rows.size, ...places.map((row) => row + 1))),
  ];
}

/** Slices of a tensor, and those past its end that accesses or marks go to. */
export function shownSlices(look: Look, counts: Counts, marks: readonly Mark[]): number {
  const { axes, slices } = look;
  if (!slices) return 1;
  if (axes.some(({ stride }) => stride > slices.stride)) return slices.size;
  const last = Math.max(counts.last, ...marks.map(({ offset }) => offset));
  const end = Math.floor((last - look.start) / slices.stride) + 1;
  return Math.min(slices.size + MOST_SLICES_BESIDE, Math.max(slices.size, end));
}

/** What is seen of a map when all of it is. */
export function wholeMap(scene: Scene, width: number, height: number): Seen {
  const [first, end] = shownRows(scene);
  const across = Math.min(width / Math.max(scene.look.columns.size, 1), 40);
  return { x: 0, y: first, across, down: Math.min(height / Math.max(end - first, 1), 40) };
}

/** Returns whether the counts are those of a sample of the rows. */
export function paintMap(drawing: Drawing, scene: Scene, seen: Seen): boolean {
  const { context, width, height, colours } = drawing;
  context.fillStyle = colours.back;
  context.fillRect(0, 0, width, height);
  const { look, slice } = scene;
  const [first, end] = shownRows(scene);
  const rows = clipped(seen.y, height / seen.down, first, end);
  const columns = clipped(seen.x, width / seen.across, 0, look.columns.size);
  const [tall, wide] = [rows[1] - rows[0], columns[1] - columns[0]];
  if (tall <= 0 || wide <= 0) return false;
  const region = {
    slice,
    rows,
    columns,
    down: Math.min(tall, Math.max(1, Math.floor(tall * seen.down))),
    across: Math.min(wide, Math.max(1, Math.floor(wide * seen.across))),
  };
  const bins = binsOf(scene.counts, look, region);
  const behind = scene.context ? binsOf(scene.context, look, region) : null;
  const lanes = scene.lanes ? binsOf(scene.lanes, look, region) : null;
  const [high, broad] = [binSizes(tall, region.down), binSizes(wide, region.across)];
  // accesses of an element, on average over each bin
  const shares = bins.counts.map(
    (count, bin) =>
      count / ((high[Math.floor(bin / region.across)] ?? 1) * (broad[bin % region.across] ?? 1)),
  );
  const paint = painter(
    drawing.colours,
    scene,
    scene.most ?? shares.reduce((most, share) => Math.max(most, share), 0),
  );
  const image = context.createImageData(region.across, region.down);
  for (let down = 0, bin = 0; down < region.down; down += 1) {
    const row = rows[0] + Math.floor(((down + 0.5) * tall) / region.down);
    for (let across = 0; across < region.across; across += 1, bin += 1) {
      const column = columns[0] + Math.floor(((across + 0.5) * wide) / region.across);
      const colour = paint(
        row,
        column,
        shares[bin] ?? 0,
        behind?.counts[bin] ?? 0,
        lanes?.counts[bin] ?? 0,
      );
      if (colour) image.data.set([...colour, 255], bin * 4);
    }
  }
  drawScaled(context, image, {
    x: (columns[0] - seen.x) * seen.across,
    y: (rows[0] - seen.y) * seen.down,
    width: wide * seen.across,
    height: tall * seen.down,
  });
  if (seen.across >= 30 && seen.down >= 14)
    writeNumbers(drawing, scene, seen, rows, columns, paint);
  for (const mark of scene.marks) outline(drawing, scene, seen, mark.offset, colours.error, 0);
  if (scene.element !== null) outline(drawing, scene, seen, scene.element, colours.accent, 2);
  return bins.sampled;
}

function clipped(from: number, many: number, first: number, end: number): Rows {
  return [Math.max(Math.floor(from), first), Math.min(Math.ceil(from + many), end)];
}

function drawScaled(
  context: CanvasRenderingContext2D,
  image: ImageData,
  box: { x: number; y: number; width: number; height: number },
): void {
  const bins = document.createElement("canvas");
  [bins.width, bins.height] = [image.width, image.height];
  bins.getContext("2d")?.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(bins, box.x, box.y, box.width, box.height);
}

/** Each place's number, where there is room for it. */
function writeNumbers(
  { context, colours }: Drawing,
  scene: Scene,
  seen: Seen,
  rows: Rows,
  columns: Rows,
  paint: Paint,
): void {
  const { look, slice, values, unit } = scene;
  const byValue = values !== null && scene.colour === "value";
  const bins = binsOf(scene.counts, look, {
    slice,
    rows,
    columns,
    down: rows[1] - rows[0],
    across: columns[1] - columns[0],
  });
  context.textAlign = "center";
  let bin = 0;
  for (let row = rows[0]; row < rows[1]; row += 1) {
    for (let column = columns[0]; column < columns[1]; column += 1, bin += 1) {
      const count = bins.counts[bin] ?? 0;
      const value = byValue ? values.at(offsetAt(look, row, column, slice) * unit) : count || null;
      if (value === null) continue;
      const x = (column - seen.x + 0.5) * seen.across;
      const y = (row - seen.y + 0.5) * seen.down;
      const text = clippedText(context, threeFigures(value), seen.across - 4);
      const ground = paint(row, column, count, 0, 0);
      context.fillStyle = ground ? inkOn(ground) : colours.text;
      context.fillText(text, x, y);
    }
  }
  context.textAlign = "start";
}

function outline(
  { context }: Drawing,
  scene: Scene,
  seen: Seen,
  offset: number,
  colour: string,
  wider: number,
): void {
  const place = placeOf(scene.look, offset);
  if (!place || (scene.look.slices && place[2] !== scene.slice)) return;
  const width = Math.max(seen.across, 8) + 2 * wider;
  const height = Math.max(seen.down, 8) + 2 * wider;
  const x = (place[1] - seen.x + 0.5) * seen.across - width / 2;
  const y = (place[0] - seen.y + 0.5) * seen.down - height / 2;
  context.lineWidth = 2;
  context.strokeStyle = colour;
  context.strokeRect(x, y, width, height);
}
