// Rows and columns of cells in colours, to be zoomed, moved and pointed at.

import { useCallback, useEffect, useState } from "preact/hooks";
import type { Drawing } from "./canvas";
import type { ColourName, Colours, Rgb } from "./colours";
import { Movable, type Seen } from "./movable";
import { binStart, type Span } from "../data/tensors";

type Cell = readonly [row: number, column: number];

/** A cell that stands out. */
export interface Ring {
  readonly row: number;
  readonly column: number;
  readonly colour: ColourName;
}

/** The colour of the bins around a cell; null: nothing is drawn. */
export type Paint = (bin: number, row: number, column: number) => Rgb | null;

interface CellMapProps {
  readonly id?: string;
  readonly label: string;
  readonly height: number;
  readonly rows: readonly [first: number, end: number];
  readonly columns: number;
  readonly rings: readonly Ring[];
  /** The cell from which arrow keys go. */
  readonly chosen: Cell | null;
  /** Bins each way at most; without it as many as there are pixels. */
  readonly mostBins?: number;
  /** Seen whole again when this changes. */
  readonly anew: unknown;
  /** Work out the colours of a part in so many bins; pass the same function where nothing changed. */
  readonly painter: (rows: Span, columns: Span, colours: Colours) => Paint;
  /** What is said of a cell; null: nothing. */
  describe(row: number, column: number): string | null;
  onChoose(row: number, column: number): void;
  onLeave(): void;
}

/** Pixels of a cell at most when all are seen. */
const LARGEST = 40;

export function CellMap(props: CellMapProps) {
  const { rows, columns, height, painter, rings } = props;
  const [width, setWidth] = useState(1);
  const [seen, setSeen] = useState<Seen | null>(null);
  useEffect(() => setSeen(null), [props.anew]);

  const whole = (width: number): Seen => ({
    x: 0,
    y: rows[0],
    across: Math.min(width / Math.max(columns, 1), LARGEST),
    down: Math.min(height / Math.max(rows[1] - rows[0], 1), LARGEST),
  });
  const draw = useCallback(
    (drawing: Drawing) => {
      setWidth(drawing.width);
      const view = seen ?? whole(drawing.width);
      paintCells(drawing, view, rows, columns, painter, props.mostBins ?? Infinity);
      for (const ring of rings) paintRing(drawing, view, ring);
    },
    [painter, rings, seen, height, ...rows, columns],
  );
  const inside = (row: number, column: number): boolean =>
    row >= rows[0] && row < rows[1] && column >= 0 && column < columns;
  const choose = (row: number, column: number): void =>
    inside(row, column) ? props.onChoose(row, column) : undefined;

  return (
    <div id={props.id}>
      <Movable
        label={`${props.label}. Arrow keys choose a cell, with Shift they move the map; plus, minus and 0 zoom.`}
        height={height}
        draw={draw}
        seen={seen ?? whole(width)}
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
    </div>
  );
}

function paintCells(
  { context, width, height, colours }: Drawing,
  seen: Seen,
  rows: readonly [number, number],
  columns: number,
  painter: CellMapProps["painter"],
  mostBins: number,
): void {
  context.fillStyle = colours.back;
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
  const paint = painter(down, across, colours);
  const image = context.createImageData(across.bins, down.bins);
  const middle = (of: Span, bin: number): number =>
    of.first + Math.floor(((bin + 0.5) * (of.end - of.first)) / of.bins);
  for (let bin = 0; bin < across.bins * down.bins; bin += 1) {
    const row = middle(down, Math.floor(bin / across.bins));
    const colour = paint(bin, row, middle(across, bin % across.bins));
    if (colour) image.data.set([...colour, 255], bin * 4);
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

function paintRing({ context, colours }: Drawing, seen: Seen, { row, column, colour }: Ring): void {
  const [width, height] = [Math.max(seen.across, 8), Math.max(seen.down, 8)];
  const x = (column - seen.x + 0.5) * seen.across - width / 2;
  const y = (row - seen.y + 0.5) * seen.down - height / 2;
  // on a ground of its own it is seen on any colour
  for (const [stroke, wide] of [
    [colours.back, 5],
    [colours[colour], 2],
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
