// Rows and columns of cells in colors, to be zoomed, moved and pointed at.

import { useCallback, useEffect, useState } from "preact/hooks";
import type { Drawing } from "./canvas";
import type { ColorName, Colors, Rgb } from "./colors";
import { type AxisNames, MapAxes } from "./map_axes";
import { Movable, type Seen } from "./movable";
import { threeFigures } from "../data/format";
import { binStart, type Span } from "../data/tensors";

type Cell = readonly [row: number, column: number];

/** A part that is outlined and named. */
export interface Box {
  readonly rows: readonly [first: number, end: number];
  readonly columns: readonly [first: number, end: number];
  readonly name: string;
}

/** A highlighted cell. */
export interface Ring {
  readonly row: number;
  readonly column: number;
  readonly color: ColorName;
}

/** The color of the bins around a cell; null: nothing is drawn. */
export type Paint = (bin: number, row: number, column: number) => Rgb | null;

interface CellMapProps {
  readonly id?: string;
  readonly label: string;
  readonly height: number;
  readonly rows: readonly [first: number, end: number];
  readonly columns: number;
  readonly rings: readonly Ring[];
  readonly boxes?: readonly Box[];
  /** Titles of the map's axes, beside their ticks. */
  readonly names?: AxisNames;
  /** The cell from which arrow keys go. */
  readonly chosen: Cell | null;
  /** Bins each way at most; without it as many as there are pixels. */
  readonly mostBins?: number;
  /** Seen whole again when this changes. */
  readonly resetOn: unknown;
  /** Work out the colors of a part in so many bins; pass the same function where nothing changed. */
  readonly painter: (rows: Span, columns: Span, colors: Colors) => Paint;
  /** The tooltip of a cell; null: none. */
  describe(row: number, column: number): string | null;
  onChoose(row: number, column: number): void;
  onLeave(): void;
}

/** Pixels of a cell at most when all are seen. */
const LARGEST = 32;
/** Cells are square unless that leaves a side of the map with fewer pixels. */
const NARROWEST = 24;
const SMALLEST_BOX = 6;

export function CellMap(props: CellMapProps) {
  const { rows, columns, painter, rings } = props;
  const height = Math.min(props.height, Math.max((rows[1] - rows[0]) * LARGEST, 2 * NARROWEST));
  const [width, setWidth] = useState(1);
  const [seen, setSeen] = useState<Seen | null>(null);
  useEffect(() => setSeen(null), [props.resetOn]);

  const whole = (width: number): Seen => {
    const [tall, wide] = [Math.max(rows[1] - rows[0], 1), Math.max(columns, 1)];
    const across = Math.min(width / wide, LARGEST);
    const down = Math.min(height / tall, LARGEST);
    const square = Math.min(across, down);
    const fits = square * wide >= Math.min(NARROWEST, width) && square * tall >= NARROWEST;
    const both = fits || square === LARGEST ? { across: square, down: square } : { across, down };
    return { x: 0, y: rows[0], ...both };
  };
  const draw = useCallback(
    (drawing: Drawing) => {
      setWidth(drawing.width);
      const view = seen ?? whole(drawing.width);
      paintCells(drawing, view, rows, columns, painter, props.mostBins ?? Infinity);
      paintBoxes(drawing, view, props.boxes ?? []);
      for (const ring of rings) paintRing(drawing, view, ring);
    },
    [painter, rings, props.boxes, seen, height, ...rows, columns],
  );
  const inside = (row: number, column: number): boolean =>
    row >= rows[0] && row < rows[1] && column >= 0 && column < columns;
  const choose = (row: number, column: number): void =>
    inside(row, column) ? props.onChoose(row, column) : undefined;

  const shown = seen ?? whole(width);
  const map = (
    <Movable
      label={`${props.label}. Arrow keys choose a cell, with Shift they move the map; plus, minus and 0 zoom.`}
      height={height}
      draw={draw}
      seen={shown}
      onSee={setSeen}
      limits={[1e-6, 96]}
      describe={(x, y) => (inside(y, x) ? props.describe(Math.floor(y), Math.floor(x)) : null)}
      onChoose={(x, y) => choose(Math.floor(y), Math.floor(x))}
      onStep={(right, below) => {
        const [row, column] = props.chosen ?? [-below, -right];
        choose(row + below, column + right);
      }}
      keys={{ Escape: props.onLeave }}
    />
  );
  const { names } = props;
  const stretched = shown.across / shown.down;
  return (
    <div id={props.id} data-across={shown.across} data-down={shown.down}>
      {names ? (
        <MapAxes {...{ names, seen: shown, rows, columns, width, height }}>{map}</MapAxes>
      ) : (
        map
      )}
      {Math.abs(Math.log(stretched)) > 0.1 ? (
        <p class="small muted">
          Not to scale: a {stretched > 1 ? "column" : "row"} is drawn{" "}
          {threeFigures(Math.max(stretched, 1 / stretched))} times as{" "}
          {stretched > 1 ? "wide as a row is tall" : "tall as a column is wide"}.
        </p>
      ) : null}
    </div>
  );
}

function paintCells(
  { context, width, height, colors }: Drawing,
  seen: Seen,
  rows: readonly [number, number],
  columns: number,
  painter: CellMapProps["painter"],
  mostBins: number,
): void {
  context.fillStyle = colors.back;
  context.fillRect(0, 0, width, height);
  const span = (from: number, pixels: number, size: number, first: number, end: number): Span => {
    const [low, high] = [
      Math.max(Math.floor(from), first),
      Math.min(Math.ceil(from + pixels / size), end),
    ];
    const bins = Math.min(high - low, Math.max(1, Math.floor((high - low) * size)), mostBins);
    return { first: low, end: high, bins };
  };
  const down = span(seen.y, height, seen.down, rows[0], rows[1]);
  const across = span(seen.x, width, seen.across, 0, columns);
  if (down.bins <= 0 || across.bins <= 0) return;
  const paint = painter(down, across, colors);
  const image = context.createImageData(across.bins, down.bins);
  const middle = (of: Span, bin: number): number =>
    of.first + Math.floor(((bin + 0.5) * (of.end - of.first)) / of.bins);
  for (let bin = 0; bin < across.bins * down.bins; bin += 1) {
    const row = middle(down, Math.floor(bin / across.bins));
    const color = paint(bin, row, middle(across, bin % across.bins));
    if (color) image.data.set([...color, 255], bin * 4);
  }
  const bins = document.createElement("canvas");
  [bins.width, bins.height] = [image.width, image.height];
  bins.getContext("2d")?.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(
    bins,
    (across.first - seen.x) * seen.across,
    (down.first - seen.y) * seen.down,
    (across.end - across.first) * seen.across,
    (down.end - down.first) * seen.down,
  );
}

/** Each outlined, and named where there is room that no name before it has taken. */
function paintBoxes({ context, colors }: Drawing, seen: Seen, boxes: readonly Box[]): void {
  context.strokeStyle = colors.text;
  context.lineWidth = 1;
  const taken: (readonly [left: number, right: number, top: number])[] = [];
  for (const { rows, columns, name } of boxes) {
    const [left, top] = [
      (columns[0] - seen.x) * seen.across,
      (rows[0] - seen.y) * seen.down,
    ] as const;
    const wide = (columns[1] - columns[0]) * seen.across;
    const tall = (rows[1] - rows[0]) * seen.down;
    if (Math.min(wide, tall) < SMALLEST_BOX) continue;
    context.globalAlpha = 0.6;
    context.strokeRect(left + 0.5, top + 0.5, wide - 1, tall - 1);
    context.globalAlpha = 1;
    const width = context.measureText(name).width;
    const [end, line] = [left + width + 8, top + 9];
    const covered = taken.some(
      ([from, to, at]) => Math.abs(at - line) < 14 && from < end && to > left,
    );
    if (covered || left < 0 || top < 0 || width + 8 > wide || tall < 16) continue;
    taken.push([left, end, line]);
    context.fillStyle = colors.back;
    context.fillRect(left + 2, top + 2, width + 4, 14);
    context.fillStyle = colors.text;
    context.fillText(name, left + 4, line);
  }
}

function paintRing({ context, colors }: Drawing, seen: Seen, { row, column, color }: Ring): void {
  const [width, height] = [Math.max(seen.across, 8), Math.max(seen.down, 8)];
  const x = (column - seen.x + 0.5) * seen.across - width / 2;
  const y = (row - seen.y + 0.5) * seen.down - height / 2;
  // an outline in the page's color shows it on any color
  for (const [stroke, wide] of [
    [colors.back, 5],
    [colors[color], 2],
  ] as const) {
    context.lineWidth = wide;
    context.strokeStyle = stroke;
    context.strokeRect(x, y, width, height);
  }
}

/** How many cells are in a bin of rows and columns. */
export function cellsIn(rows: Span, columns: Span, bin: number): number {
  const [down, across] = [Math.floor(bin / columns.bins), bin % columns.bins];
  const tall = binStart(rows, down + 1) - binStart(rows, down);
  return tall * (binStart(columns, across + 1) - binStart(columns, across));
}
