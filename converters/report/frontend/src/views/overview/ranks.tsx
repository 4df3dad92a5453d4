// The ranks of a job: what limits them, and a heat map of who was late in which step.

import { useEffect, useRef } from "preact/hooks";

import { formatNanoseconds } from "../../data/format";
import { page } from "../../data/page";
import type { LateMap, RankRow } from "../../data/types";
import { WithTable } from "../../parts/beside";
import { figure } from "../../parts/columns";
import { Table } from "../../parts/table";
import { Section } from "../../parts/text";

/** Red, green and blue of ranks that are late, and of those that wait. */
const LATE = [214, 60, 48] as const;
const WAITING = [52, 120, 190] as const;

export function Ranks() {
  const ranks = page.report.answer?.ranks;
  if (!ranks) return null;
  const { sentences, parts, rows, map } = ranks;
  const shown = Object.entries(parts).filter(([part]) => rows.some((row) => row.parts[part]));
  const table = () => (
    <Table<RankRow>
      id="rank-table"
      caption="Ranks"
      columns={[
        figure("rank", null, ({ rank }) => rank),
        figure("late in a step", "derived", ({ late_ns }) => late_ns, "ns"),
        figure("steps it waited least", "derived", ({ waited_least }) => waited_least),
        figure("others waited for it", "derived", ({ waited_for_ns }) => waited_for_ns, "ns"),
        ...shown.map(([part, label]) =>
          figure<RankRow>(label, "derived", (row) => row.parts[part], "ns"),
        ),
      ]}
      rows={rows}
      height={10}
    />
  );
  return (
    <Section title="Ranks" id="ranks">
      {sentences.map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
      {map ? (
        <WithTable name="Ranks" canvas={<HeatMap map={map} rows={rows} />} table={table} />
      ) : (
        table()
      )}
    </Section>
  );
}

/** A row a rank, a column a step (or several): red where the others waited for the rank. */
function HeatMap({ map, rows }: { map: LateMap; rows: readonly RankRow[] }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const columns = map.late_ns[0]?.length ?? 0;
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (context) context.putImageData(pixels(map, columns), 0, 0);
  }, [map]);
  const name = (event: MouseEvent): void => {
    const target = event.currentTarget as HTMLCanvasElement;
    const row = Math.floor((event.offsetY * rows.length) / target.clientHeight);
    const column = Math.floor((event.offsetX * columns) / target.clientWidth);
    const late = map.late_ns[row]?.[column];
    if (late === undefined) return;
    const first = map.first + column * map.steps;
    const steps = map.steps > 1 ? `steps ${first} to ${first + map.steps - 1}` : `step ${first}`;
    const what = late < 0 ? "waited" : "late by";
    target.title = `rank ${rows[row]?.rank}, ${steps}: ${what} ${formatNanoseconds(Math.abs(late))}`;
  };
  return (
    <canvas
      ref={canvas}
      class="rank-map"
      role="img"
      aria-label="Ranks by step: red where the others waited for a rank, blue where it waited"
      width={columns}
      height={rows.length}
      style={{ blockSize: `${Math.min(320, Math.max(60, 14 * rows.length))}px` }}
      onMouseMove={name}
    />
  );
}

function pixels(map: LateMap, columns: number): ImageData {
  const late = map.late_ns.flat();
  const most = late.reduce((largest, ns) => Math.max(largest, Math.abs(ns)), 1);
  const image = new ImageData(columns, map.late_ns.length);
  late.forEach((ns, at) => {
    image.data.set([...(ns < 0 ? WAITING : LATE), 255 * Math.sqrt(Math.abs(ns) / most)], 4 * at);
  });
  return image;
}
