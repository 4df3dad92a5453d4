// The map as a table: each element that is accessed, or regions where there are too many of them.

import { useMemo } from "preact/hooks";

import { formatCount, formatTuple } from "../../data/format";
import { figure, words } from "../../parts/columns";
import { Table } from "../../parts/table";
import { binsOf, countAt } from "./counts";
import type { Scene } from "./map_colours";
import { ownIndex, type Touched } from "./scene";

interface TableProps {
  readonly scene: Scene;
  readonly touched: Touched;
  readonly id?: string;
  onChoose?(offset: number): void;
}

export function CountTable(props: TableProps) {
  return props.scene.counts.dense ? <Elements {...props} /> : <Regions {...props} />;
}

function Elements({ scene, touched, id = "elements", onChoose }: TableProps) {
  const { counts, values, unit } = scene;
  const low = counts.dense?.low ?? 0;
  const rows = useMemo(() => touchedPlaces(scene), [counts]);
  return (
    <Table<number>
      id={id}
      caption="Elements that are accessed"
      columns={[
        figure("Element", null, (row) => row + low),
        words("Index", (row) => formatTuple(ownIndex(touched, row + low))),
        figure("byte", null, (row) => (row + low) * unit),
        figure("accesses", "derived", (row) => countAt(counts, row + low)),
        values && figure("value", "measured", (row) => values.at((row + low) * unit), "number"),
      ]}
      rows={rows}
      {...(onChoose && { onChoose: (row: number) => onChoose(row + low) })}
      height={10}
    />
  );
}

/** Places in the dense counts that are not 0. */
function touchedPlaces({ counts: { dense } }: Scene): Uint32Array {
  const places = new Uint32Array(dense?.counts.length ?? 0);
  let length = 0;
  dense?.counts.forEach((count, place) => {
    if (count) places[length++] = place;
  });
  return places.slice(0, length);
}

/** Regions each way. */
const MOST = 16;

function Regions({ scene: { look, counts, slice } }: TableProps) {
  const [tall, wide] = [look.rows.size, look.columns.size];
  const [down, across] = [Math.min(tall, MOST), Math.min(wide, MOST)];
  const bins = useMemo(
    () => binsOf(counts, look, { slice, rows: [0, tall], columns: [0, wide], down, across }),
    [look, counts, slice],
  );
  const rows = useMemo(() => [...bins.counts.keys()], [bins]);
  const edge = (place: number, of: number, size: number) => Math.ceil((place * size) / of);
  const span = (label: string, place: (bin: number) => number, of: number, size: number) =>
    words<number>(
      label,
      (bin) => {
        const [first, end] = [place(bin), place(bin) + 1].map((at) => edge(at, of, size));
        return (end ?? 0) - 1 === first
          ? formatCount(first)
          : `${formatCount(first)} – ${formatCount((end ?? 0) - 1)}`;
      },
      { key: place },
    );
  return (
    <Table<number>
      id="regions"
      caption="Regions of the tensor"
      columns={[
        span("Rows", (bin) => Math.floor(bin / across), down, tall),
        span("Columns", (bin) => bin % across, across, wide),
        figure(
          "accesses",
          "derived",
          (bin) => bins.counts[bin],
          (count) => `${bins.sampled ? "about " : ""}${formatCount(Math.round(count ?? 0))}`,
        ),
      ]}
      rows={rows}
      height={10}
    />
  );
}
