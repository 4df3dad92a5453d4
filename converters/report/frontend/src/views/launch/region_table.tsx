// The map of a tensor too large to list each element: so many accesses in each of its regions.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";

import { formatCount } from "../../data/format";
import { type Column, Table } from "../../parts/table";
import { binsOf } from "./counts";
import type { Scene } from "./map_paint";

/** Regions each way. */
const MOST = 16;

interface Region {
  readonly rows: readonly [first: number, last: number];
  readonly columns: readonly [first: number, last: number];
  readonly accesses: number;
}

export function RegionTable(props: { scene: Scene }): JSX.Element {
  const { scene } = props;
  const { rows, sampled } = useMemo(
    () => regionsOf(scene),
    [scene.look, scene.counts, scene.slice],
  );
  const span = ([first, last]: readonly [number, number]): string =>
    first === last ? formatCount(first) : `${formatCount(first)} – ${formatCount(last)}`;
  const columns: Column<Region>[] = [
    {
      label: "Rows",
      cell: (region) => span(region.rows),
      key: (region) => region.rows[0],
      text: (region) => span(region.rows),
    },
    {
      label: "Columns",
      cell: (region) => span(region.columns),
      key: (region) => region.columns[0],
      text: (region) => span(region.columns),
    },
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
