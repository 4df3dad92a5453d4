// Map of a memory over time: tiles are boxes from first to last use, whose height is the amount per
// partition; the line is the memory's limit.

import { useMemo, useState } from "preact/hooks";
import { setQuery } from "@report/app/router";
import { formatBytes, formatCount, plural } from "@report/data/format";
import type { Tile, Usage } from "../model";
import { kernelHue } from "@report/parts/colors";
import { Plot } from "@report/parts/plot";
import { STEPS } from "@report/parts/pointing";
import { type Placed, placedTiles } from "./placing";

interface MapProps {
  readonly usage: Usage;
  readonly tiles: readonly Tile[];
  readonly executed: number;
  /** Numbers of the highlighted tiles; null: all tiles. */
  readonly chosen: ReadonlySet<number> | null;
}

/** Memory space → name. */
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
  const name = SPACES[usage.space] ?? usage.space;
  const most = `${amountText(usage, usage.peak)} of ${amountText(usage, usage.limit)} a partition`;
  const amount = (value: number): string => amountText(usage, Math.round(value));
  /** Moves with arrow keys to the next or previous tile, by first use. */
  const onKeyDown = (event: KeyboardEvent): void => {
    const arrow = STEPS[event.key];
    if (event.key === "Escape") setQuery({ tile: null });
    if (!arrow || !placed.length) return;
    event.preventDefault();
    const at = placed.findIndex(({ tile }) => tile.number === under?.number);
    const place = at < 0 ? 0 : (at + arrow[0] + arrow[1] + placed.length) % placed.length;
    const next = placed[place]?.tile ?? null;
    setUnder(next);
    setQuery({ tile: next?.number, op: null });
  };
  return (
    <figure class="onchip-map" data-space={usage.space} data-peak={usage.peak}>
      <figcaption>
        {name}: at most {most} in use at once, by {plural(tiles.length, "tile")}
      </figcaption>
      <Plot
        label={`${name} by order of ops: ${most} in use at most. Arrow keys go from tile to tile; the table below has them`}
        x={{ label: "ops in their order", low: 0, high: executed, format: formatCount }}
        y={{ label: "a partition", low: 0, high: top, format: amount, binary: true }}
        height={220}
        onKeyDown={onKeyDown}
      >
        {(x, y) => (
          <>
            {placed.map(({ tile, base }) => (
              <rect
                key={tile.number}
                data-tile={tile.name}
                x={x(tile.first)}
                y={y(base + tile.amount)}
                width={x(tile.last + 1) - x(tile.first)}
                height={y(base) - y(base + tile.amount)}
                fill={`hsl(${hues.get(tile.name) ?? 0} 45% 62%)`}
                opacity={chosen === null || chosen.has(tile.number) ? 1 : 0.25}
                onMouseEnter={() => setUnder(tile)}
                onClick={() => setQuery({ tile: tile.number, op: null })}
              />
            ))}
            {placed.map(({ tile, base }) =>
              x(tile.last + 1) - x(tile.first) > 8 * (tile.name ?? "").length ? (
                <text key={tile.number} x={x(tile.first) + 4} y={y(base + tile.amount / 2) + 4}>
                  {y(base) - y(base + tile.amount) > 12 && tile.name}
                </text>
              ) : null,
            )}
            {usage.limit <= top ? (
              <path class="limit" d={`M${x(0)} ${y(usage.limit)}H${x(executed)}`} />
            ) : null}
          </>
        )}
      </Plot>
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

/** Returns name → hue, so that tiles of equal name have the same color. */
function huesOf(tiles: readonly Tile[]): ReadonlyMap<string | null, number> {
  const hues = new Map<string | null, number>();
  for (const { name } of tiles) if (!hues.has(name)) hues.set(name, kernelHue(hues.size));
  return hues;
}

/** Returns the map's height: the most in use, and the limit if at most twice that. */
function heightOf(placed: readonly Placed[], usage: Usage): number {
  const highest = placed.reduce((most, { tile, base }) => Math.max(most, base + tile.amount), 0);
  return usage.limit <= highest * 2 ? Math.max(highest, usage.limit) * 1.05 : highest * 1.2 || 1;
}
