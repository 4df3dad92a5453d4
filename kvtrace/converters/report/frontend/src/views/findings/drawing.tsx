// A small drawing of a tensor's storage: a bar with where the access fell, and below it the
// elements around it and around the tensor's end. The table beside it says the same.

import { useCallback, useMemo, useState } from "preact/hooks";
import { formatBytes, formatCount, shortText } from "../../data/format";
import { WithTable } from "../../parts/beside";
import { Canvas, clippedText, type Drawing } from "../../parts/canvas";
import type { Colours } from "../../parts/colours";
import { figure } from "../../parts/columns";
import { type Column, Table } from "../../parts/table";
import { type Kind, kindAt, rowLength, rowsShown, type StorageView } from "./storage";

const BAR = { top: 22, height: 16 };
const GRID = { top: 76, label: 88 };
const CELL = 18;

export function StorageDrawing(props: { of: StorageView; name: string }) {
  const { of, name } = props;
  const [width, setWidth] = useState(640);
  const length = rowLength(of, Math.max(8, Math.floor((width - GRID.label) / 8)));
  const rows = useMemo(() => rowsShown(of, length), [of, length]);
  const draw = useCallback(
    (drawing: Drawing) => {
      if (drawing.width !== width) setWidth(drawing.width);
      paintBar(drawing, of);
      paintRows(drawing, of, rows, length);
    },
    [of, rows, length, width],
  );
  return (
    <div class="finding-drawing" id="storage-drawing">
      <WithTable
        name="Storage of the tensor"
        canvas={
          <Canvas
            label={`The storage of ${shortText(name, 80)}: ${inWords(of)}`}
            height={GRID.top + rows.length * CELL + 8}
            draw={draw}
          />
        }
        table={() => <SpanTable of={of} name={name} />}
      />
      <p class="small muted finding-legend">
        <Key kind="view" /> the tensor <Key kind="storage" /> other bytes of its storage{" "}
        <Key kind="outside" /> outside of it <Key kind="access" /> the access. Derived.
      </p>
    </div>
  );
}

function Key(props: { kind: Kind }) {
  return <span class={`finding-key ${props.kind}`} aria-hidden="true" />;
}

/** Where the access is, as the drawing shows it. */
export function inWords(of: StorageView): string {
  const { access, view, storage } = of;
  const bytes = `bytes ${formatCount(access.first)} to ${formatCount(access.end - 1)}`;
  if (access.end > storage.end)
    return `${bytes} end ${formatBytes(access.end - storage.end)} past the end of its storage`;
  if (access.first < storage.first)
    return `${bytes} begin ${formatBytes(storage.first - access.first)} before its storage`;
  if (access.end > view.end)
    return `${bytes} end ${formatBytes(access.end - view.end)} past the end of the tensor, inside its storage`;
  if (access.first < view.first)
    return `${bytes} begin ${formatBytes(view.first - access.first)} before the tensor, inside its storage`;
  return `${bytes}, inside the tensor`;
}

function paintBar({ context, width, colours }: Drawing, of: StorageView): void {
  const { view, storage, access } = of;
  const low = Math.min(storage.first, access.first);
  const high = Math.max(storage.end, access.end);
  const across = (byte: number): number =>
    4 + ((byte - low) / Math.max(1, high - low)) * (width - 8);
  const box = (first: number, end: number, fill: string, edge: string): void => {
    const wide = Math.max(2, across(end) - across(first));
    context.fillStyle = fill;
    context.fillRect(across(first), BAR.top, wide, BAR.height);
    context.strokeStyle = edge;
    context.strokeRect(across(first) + 0.5, BAR.top + 0.5, Math.max(1, wide - 1), BAR.height - 1);
  };
  if (storage.end > storage.first) box(storage.first, storage.end, colours.track, colours.muted);
  if (view.end > view.first) box(view.first, view.end, colours["accent-soft"], colours.accent);
  const at = Math.min(across(access.first), width - 6);
  context.fillStyle = colours.error;
  context.fillRect(
    at,
    BAR.top - 2,
    Math.max(2, across(access.end) - across(access.first)),
    BAR.height + 4,
  );
  context.beginPath();
  context.moveTo(at - 5, BAR.top - 8);
  context.lineTo(at + 6, BAR.top - 8);
  context.lineTo(at + 0.5, BAR.top - 2);
  context.fill();
  label(context, `byte ${formatCount(access.first)}`, at, 7, width);
  context.fillStyle = colours.muted;
  label(context, formatCount(low), across(low), 50, width);
  label(context, `end ${formatCount(view.end)}`, across(view.end), 50, width);
}

/** Text in the middle of a place, but not beyond the edges. */
function label(
  context: CanvasRenderingContext2D,
  text: string,
  at: number,
  y: number,
  width: number,
): void {
  const half = context.measureText(text).width / 2;
  context.textAlign = "center";
  context.fillText(text, Math.min(Math.max(at, half + 2), width - half - 2), y);
  context.textAlign = "start";
}

function paintRows(
  drawing: Drawing,
  of: StorageView,
  rows: readonly (number | null)[],
  length: number,
): void {
  const { context, width, colours } = drawing;
  const cell = Math.min(CELL, (width - GRID.label) / length);
  rows.forEach((row, place) => {
    const y = GRID.top + place * CELL;
    context.fillStyle = colours.muted;
    if (row === null) return context.fillText("⋮", GRID.label + 4, y + CELL / 2);
    const byte = formatCount(row * length * of.item);
    const named = context.measureText(`byte ${byte}`).width <= GRID.label - 8;
    context.fillText(
      clippedText(context, named ? `byte ${byte}` : byte, GRID.label - 8),
      0,
      y + CELL / 2,
    );
    for (let column = 0; column < length; column += 1) {
      const kind = kindAt(of, row * length + column);
      paintCell(context, colours, kind, GRID.label + column * cell, y, cell);
    }
  });
}

function paintCell(
  context: CanvasRenderingContext2D,
  colours: Colours,
  kind: Kind,
  x: number,
  y: number,
  size: number,
): void {
  const [wide, high] = [Math.max(1, size - 2), CELL - 3];
  if (kind === "outside") {
    context.strokeStyle = colours.line;
    context.setLineDash([2, 2]);
    context.strokeRect(x + 0.5, y + 0.5, wide - 1, high - 1);
    context.setLineDash([]);
    return;
  }
  const fills = { access: colours.error, view: colours["accent-soft"], storage: colours.mark };
  context.fillStyle = fills[kind];
  context.fillRect(x, y, wide, high);
  if (kind === "storage") return;
  context.strokeStyle = kind === "view" ? colours.accent : colours.error;
  context.strokeRect(x + 0.5, y + 0.5, wide - 1, high - 1);
}

interface SpanRow {
  readonly what: string;
  readonly first: number;
  readonly end: number;
}

const SPAN_COLUMNS: readonly Column<SpanRow>[] = [
  { label: "What", cell: (row) => shortText(row.what, 80), key: (row) => row.what },
  figure("first byte", "derived", (row) => row.first),
  {
    label: "last byte",
    number: true,
    source: "derived",
    cell: (row) => formatCount(row.end - 1),
    key: (row) => row.end,
  },
  figure("bytes", "derived", (row) => row.end - row.first),
];

function SpanTable({ of, name }: { of: StorageView; name: string }) {
  const rows = useMemo(
    () => [
      { what: `storage that ${name} lies in`, ...of.storage },
      { what: `${name} itself`, ...of.view },
      { what: "the access", ...of.access },
    ],
    [of, name],
  );
  return (
    <>
      <p class="small">Bytes count from the tensor's data pointer. {inWords(of)}.</p>
      <Table
        id="storage-spans"
        caption="Storage of the tensor"
        columns={SPAN_COLUMNS}
        rows={rows}
      />
    </>
  );
}
