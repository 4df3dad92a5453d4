// A memory over time: tiles as boxes from first to last use, as high as what they take of a
// partition; the line is what there is.

import { useMemo, useState } from "preact/hooks";
import { setQuery } from "../../app/router";
import { formatBytes, formatCount, plural } from "../../data/format";
import type { Tile, Usage } from "../../data/types";
import { Canvas, clippedText, type Drawing } from "../../parts/canvas";
import { kernelHue } from "../../parts/colours";
import { STEPS } from "../../parts/pointing";
import { type Placed, placedTiles, tileAt } from "./placing";

const HEIGHT = 220;
const BELOW = 18;

interface MapProps {
  readonly usage: Usage;
  readonly tiles: readonly Tile[];
  readonly executed: number;
  /** Numbers of the tiles that stand out; null: all do. */
  readonly chosen: ReadonlySet<number> | null;
}

/** What the memories are called. */
export const SPACES: Readonly<Record<string, string>> = {
  hbm: "device memory",
  sbuf: "SBUF",
  psum: "PSUM",
};

export function amountText(usage: Usage, amount: number): string {
  return usage.space === "sbuf" ? formatBytes(amount) : plural(amount, "bank");
}

export function MemoryMap({ usage, tiles, executed, chosen }: MapProps) {
  const placed = useMemo(() => placedTiles(tiles), [tiles]);
  const top = useMemo(() => heightOf(placed, usage), [placed, usage]);
  const hues = useMemo(() => huesOf(tiles), [tiles]);
  const [under, setUnder] = useState<Tile | null>(null);
  const draw = useMemo(
    () => (drawing: Drawing) => paint(drawing, placed, usage, executed, top, hues, chosen),
    [placed, usage, executed, top, hues, chosen],
  );
  const name = SPACES[usage.space] ?? usage.space;
  const most = `${amountText(usage, usage.peak)} of ${amountText(usage, usage.limit)} a partition`;
  const find = (event: MouseEvent): Tile | null => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const order = ((event.clientX - box.left) / box.width) * executed;
    const height = (1 - (event.clientY - box.top) / (HEIGHT - BELOW)) * top;
    return tileAt(placed, order, height);
  };
  /** Arrow keys go through the tiles in the order of their first use. */
  const onKeyDown = (event: KeyboardEvent): void => {
    const arrow = STEPS[event.key];
    if (event.key === "Escape") setQuery({ tile: null });
    if (!arrow || !placed.length) return;
    event.preventDefault();
    const step = arrow[0] + arrow[1];
    const at = placed.findIndex(({ tile }) => tile.number === under?.number);
    const next = placed[at < 0 ? 0 : (at + step + placed.length) % placed.length]?.tile ?? null;
    setUnder(next);
    setQuery({ tile: next?.number, op: null });
  };
  return (
    <figure class="onchip-map" data-space={usage.space} data-peak={usage.peak}>
      <figcaption>
        {name}: at most {most} in use at once, by {plural(tiles.length, "tile")}
      </figcaption>
      <Canvas
        label={`${name} by order of ops: ${most} in use at most. Arrow keys go from tile to tile; the table below has them`}
        height={HEIGHT}
        draw={draw}
        tabIndex={0}
        onKeyDown={onKeyDown}
        onMouseMove={(event) => setUnder(find(event))}
        onMouseLeave={() => setUnder(null)}
        onClick={(event) => setQuery({ tile: find(event)?.number ?? null, op: null })}
      />
      <p class="muted small" aria-live="polite">
        {under ? tileText(usage, under) : "Point at a tile to see what it is."}
      </p>
    </figure>
  );
}

function tileText(usage: Usage, tile: Tile): string {
  const size = `${formatBytes(tile.bytes)} on ${plural(tile.partitions, "partition")}`;
  const use = `ops ${formatCount(tile.first)} to ${formatCount(tile.last)}`;
  return `${tile.name ?? "unnamed tile"}: ${size}, ${amountText(usage, tile.amount)} of each, ${use}`;
}

/** Tiles of one name have one colour. */
function huesOf(tiles: readonly Tile[]): ReadonlyMap<string | null, number> {
  const found = new Map<string | null, number>();
  for (const { name } of tiles) if (!found.has(name)) found.set(name, kernelHue(found.size));
  return found;
}

/** The picture is as high as what is in use, and the limit stays in it where it is near. */
function heightOf(placed: readonly Placed[], usage: Usage): number {
  const highest = placed.reduce((most, { tile, base }) => Math.max(most, base + tile.amount), 0);
  return usage.limit <= highest * 2 ? Math.max(highest, usage.limit) * 1.05 : highest * 1.2 || 1;
}

function paint(
  { context, width, height, colours }: Drawing,
  placed: readonly Placed[],
  usage: Usage,
  executed: number,
  top: number,
  hues: ReadonlyMap<string | null, number>,
  chosen: ReadonlySet<number> | null,
): void {
  const area = height - BELOW;
  const x = (order: number): number => (order / Math.max(executed, 1)) * width;
  const y = (amount: number): number => area - (amount / top) * area;
  context.fillStyle = colours.track;
  context.fillRect(0, 0, width, area);
  for (const { tile, base } of placed) {
    const [left, right] = [x(tile.first), x(tile.last + 1)];
    const [low, high] = [y(base), y(base + tile.amount)];
    context.globalAlpha = chosen === null || chosen.has(tile.number) ? 1 : 0.25;
    context.fillStyle = `hsl(${hues.get(tile.name) ?? 0} 45% 62%)`;
    context.fillRect(
      left,
      high,
      Math.max(right - left - 0.5, 0.5),
      Math.max(low - high - 0.5, 0.5),
    );
    if (low - high > 11 && right - left > 24 && tile.name) {
      context.fillStyle = "#111";
      context.fillText(
        clippedText(context, tile.name, right - left - 6),
        left + 3,
        (low + high) / 2,
      );
    }
  }
  context.globalAlpha = 1;
  if (usage.limit <= top) {
    context.fillStyle = colours.error;
    context.fillRect(0, y(usage.limit), width, 1.5);
  }
  context.fillStyle = colours.muted;
  context.fillText("first op", 0, height - BELOW / 2);
  const last = `op ${formatCount(executed)}`;
  context.fillText(last, width - context.measureText(last).width, height - BELOW / 2);
}
