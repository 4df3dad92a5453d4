// What one warp asks for: the 128-byte lines that it touches, word by word, and the bytes that are
// moved although no lane asks for them.

import { useCallback, useMemo } from "preact/hooks";
import { chosenNumber, setQuery } from "../../app/router";
import { formatCount, formatShare, plural } from "../../data/format";
import { WithTable } from "../../parts/beside";
import { Canvas, type Drawing } from "../../parts/canvas";
import { heatColor } from "../../parts/colors";
import { figure } from "../../parts/columns";
import { AddressChoice } from "../../parts/search";
import { Slider } from "../../parts/slider";
import { Table } from "../../parts/table";
import {
  lanesAlong,
  LINE,
  type Line,
  SECTOR,
  sectorsOf,
  type Warp,
  WARP,
  warpAccess,
  warpEfficiency,
  warpOf,
  warpsOf,
  WORD,
} from "../../accesses/warp";
import { accessHeat, Key, mapColors } from "./map_colors";
import { sectorEfficiency } from "./ops";
import type { Scene } from "./scene";
import { type Place, programText } from "./state";

const [GUTTER, ROW, HEAD, MOST_ROWS] = [88, 18, 20, 32];

export function WarpPanel({ scene, grid }: { scene: Scene; grid: Place }) {
  const { touched, wanted } = scene;
  const access = useMemo(() => warpAccess(touched.accesses, wanted), [touched, wanted]);
  const many = access ? warpsOf(access) : 1;
  const number = Math.min(chosenNumber("warp") ?? 0, many - 1);
  const bytes = touched.unit * touched.width;
  const offset = touched.argument?.offset_bytes ?? 0;
  const orders = useMemo(() => {
    const known = sectorEfficiency(touched.op);
    const away = (along: number): number =>
      access && known !== null ? Math.abs(warpEfficiency(access, along, bytes, offset) - known) : 0;
    const all = (access ? lanesAlong(access) : []).map((along) => [along, away(along)] as const);
    return all.sort((a, b) => a[1] - b[1]).map(([along]) => along);
  }, [access, touched]);
  const asked = chosenNumber("along");
  const along = orders.find((each) => each === asked) ?? orders[0] ?? 0;
  const warp = useMemo(
    () => access && warpOf(access, number, along, bytes, offset),
    [access, number, along],
  );
  const lines = warp?.lines.slice(0, MOST_ROWS) ?? [];
  const draw = useCallback((drawing: Drawing) => paint(drawing, lines), [warp]);
  if (!access || !warp) return null;
  const { program, iteration } = access;
  const where = [
    program < 0 ? "" : `program ${programText(program, grid)}`,
    iteration < 0 ? "" : `iteration ${formatCount(iteration)}`,
  ];
  return (
    <section id="warp">
      <h3>
        One warp <span class="muted">{where.filter(Boolean).join(", ")}</span>
      </h3>
      <Slider
        name="Warp"
        label="Warp of the block"
        size={many}
        value={number}
        onChange={(value) => setQuery({ warp: value || null })}
      />
      {orders.length > 1 ? (
        <div class="toolbar">
          <AddressChoice
            label="Consecutive lanes are along"
            name="along"
            options={orders.map((axis) => [String(axis), `axis ${axis} of the block`] as const)}
          />
        </div>
      ) : null}
      <p class="wrap">
        {said(warp, number * WARP)} Assumed:{" "}
        {orders.length > 1
          ? "the axis; that which comes nearest to the op's sector efficiency is taken first."
          : "lanes that follow each other in the block are one warp's."}
      </p>
      <WithTable
        name="Lines that the warp touches"
        canvas={
          <Canvas
            label="The 128-byte lines that the warp touches, in words of 4 bytes; the table below has the same data"
            height={HEAD + Math.max(lines.length, 1) * ROW}
            draw={draw}
          />
        }
        table={() => (
          <Table<Line>
            id="warp-lines"
            caption="Lines that the warp touches"
            columns={[
              figure("First byte", null, ({ start }) => start),
              figure("requested bytes", "derived", (line) => sum(sectorsOf(line))),
              figure("sectors moved", "derived", (line) => sectorsOf(line).filter(Boolean).length),
              figure("lanes", "derived", ({ lanes }) => sum([...lanes])),
            ]}
            rows={warp.lines}
            height={10}
          />
        )}
      />
      <p class="small muted launch-legend">
        <Key name="asked" color={heatColor(accessHeat(1, 2))}>
          requested
        </Key>
        <Key name="again" color={heatColor(1)}>
          by several lanes
        </Key>
        <Key name="wasted" color={mapColors().wasted}>
          moved, requested by no lane
        </Key>
        <span>
          A row is a line of 128 bytes: four sectors, which is what memory moves, and 32 words, one
          for each bank of shared memory if it is copied there as it is.
          {warp.lines.length > MOST_ROWS
            ? ` The first ${MOST_ROWS} of ${formatCount(warp.lines.length)} lines are drawn.`
            : ""}
        </span>
      </p>
    </section>
  );
}

function said({ active, lanes, asked, sectors, lines }: Warp, from: number): string {
  const moved = sectors * SECTOR;
  const off = lanes - active;
  return (
    `Lanes ${formatCount(from)} to ${formatCount(from + lanes - 1)} of the block` +
    `${off ? `, ${plural(off, "lane")} masked off` : ""}: ${plural(asked, "byte")} requested in ` +
    `${plural(sectors, "sector")} of ${plural(lines.length, "line")}, ` +
    `${formatShare(asked, moved)} of the ${formatCount(moved)} bytes moved.`
  );
}

function sum(values: readonly number[]): number {
  return values.reduce((all, each) => all + each, 0);
}

function paint(drawing: Drawing, lines: readonly Line[]): void {
  const { context, colors, width } = drawing;
  const { wasted, untouched } = mapColors();
  const cell = Math.min((width - GUTTER) / WARP, 40);
  context.fillStyle = colors.muted;
  context.fillText("byte", 4, HEAD / 2);
  for (let word = 0; word < WARP; word += 4)
    context.fillText(String(word * WORD), GUTTER + word * cell + 2, HEAD / 2);
  lines.forEach((line, row) => {
    const top = HEAD + row * ROW;
    context.fillStyle = colors.text;
    context.fillText(formatCount(line.start), 4, top + ROW / 2);
    const sectors = sectorsOf(line);
    for (let word = 0; word < WARP; word += 1) {
      const moved = sectors[Math.floor((word * WORD) / SECTOR)] ?? 0;
      const share = (line.bytes[word] ?? 0) / WORD;
      const left = GUTTER + word * cell;
      context.fillStyle = moved ? wasted : untouched;
      context.fillRect(left, top, cell - 1, ROW - 2);
      if (!share) continue;
      context.fillStyle = heatColor(line.again[word] ? 1 : accessHeat(1, 2));
      context.fillRect(left, top, (cell - 1) * share, ROW - 2);
    }
    context.strokeStyle = colors.edge;
    for (let sector = 0; sector < LINE / SECTOR; sector += 1)
      if (sectors[sector])
        context.strokeRect(
          GUTTER + (sector * SECTOR * cell) / WORD - 0.5,
          top - 0.5,
          (SECTOR * cell) / WORD,
          ROW - 1,
        );
  });
}
