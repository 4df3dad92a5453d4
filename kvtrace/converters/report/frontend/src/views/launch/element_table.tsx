// The map as a table: each element that is accessed.

import { useMemo } from "preact/hooks";

import { words } from "../../parts/columns";
import { formatCount } from "../../data/format";
import { type Column, Table } from "../../parts/table";
import { binsOf } from "./counts";
import type { Scene } from "./map_colours";

import { figure } from "../../parts/columns";
import { UNKNOWN, formatTuple, threeFigures } from "../../data/format";
import { countAt } from "./counts";
import { type Touched, ownIndex } from "./scene";

export function ElementTable(props: {
  scene: Scene;
  touched: Touched;
  id?: string;
  onChoose?(offset: number): void;
}) {
  const { scene, touched } = props;
  const { counts, values, unit } = scene;
  const low = counts.dense?.low ?? 0;
  const rows = useMemo(() => touchedPlaces(scene), [counts]);
  const columns: Column<number>[] = [
    figure("Element", null, (row) => row + low),
    words("Index", (row) => formatTuple(ownIndex(touched, row + low))),
    figure("byte", null, (row) => (row + low) * unit),
    figure("accesses", "derived", (row) => countAt(counts, row + low)),
    figure("value", "measured", (row) => values?.at((row + low) * unit) ?? null, shown),
  ];
  return (
    <Table
      id={props.id ?? "elements"}
      caption="Elements that are accessed"
      columns={values ? columns : columns.slice(0, -1)}
      rows={rows as unknown as ArrayLike<number>}
      {...(props.onChoose ? { onChoose: (row: number) => props.onChoose?.(row + low) } : {})}
      height={10}
    />
  );
}

function shown(value: number | null | undefined): string {
  return value === null || value === undefined ? UNKNOWN : threeFigures(value);
}

/** Places in the dense counts that are not 0. */
function touchedPlaces({ counts }: Scene): Uint32Array {
  const { dense } = counts;
  const places = new Uint32Array(dense?.counts.length ?? 0);
  let length = 0;
  dense?.counts.forEach((count, place) => {
    if (count === 0) return;
    places[length] = place;
    length += 1;
  });
  return places.slice(0, length);
}

/** Regions each way. */
const MOST = 16;

interface Region {
  readonly rows: readonly [first: number, last: number];
  readonly columns: readonly [first: number, last: number];
  readonly accesses: number;
}

export function RegionTable(props: { scene: Scene }) {
  const { scene } = props;
  const { rows, sampled } = useMemo(
    () => regionsOf(scene),
    [scene.look, scene.counts, scene.slice],
  );
  const span = ([first, last]: readonly [number, number]): string =>
    first === last ? formatCount(first) : `${formatCount(first)} – ${formatCount(last)}`;
  const columns: Column<Region>[] = [
    words("Rows", (region) => span(region.rows), { key: (region) => region.rows[0] }),
    words("Columns", (region) => span(region.columns), { key: (region) => region.columns[0] }),
    {
      label: "accesses",
      source: "derived",
      number: true,
      cell: ({ accesses }) => `${sampled ? "about " : ""}${formatCount(Math.round(accesses))}`,
      key: ({ accesses }) => accesses,
    },
  ];
  return (
    <Table id="regions" caption="Regions of the tensor" columns={columns} rows={rows} height={10} />
  );
}

function regionsOf({ look, counts, slice }: Scene): { rows: Region[]; sampled: boolean } {
  const [tall, wide] = [look.rows.size, look.columns.size];
  const [down, across] = [Math.min(tall, MOST), Math.min(wide, MOST)];
  const bins = binsOf(counts, look, { slice, rows: [0, tall], columns: [0, wide], down, across });
  const edge = (place: number, of: number, size: number): number => Math.ceil((place * size) / of);
  const rows = Array.from(bins.counts, (accesses, bin): Region => {
    const [row, column] = [Math.floor(bin / across), bin % across];
    return {
      rows: [edge(row, down, tall), edge(row + 1, down, tall) - 1],
      columns: [edge(column, across, wide), edge(column + 1, across, wide) - 1],
      accesses,
    };
  });
  return { rows, sampled: bins.sampled };
}
