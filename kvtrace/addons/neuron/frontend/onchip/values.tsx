// Final values of the chosen tile, if they were recorded.

import { formatCount, plural, shortText } from "@report/data/format";
import { page } from "@report/data/page";
import type { Tile, TileValues } from "../model";
import { useBlock } from "@report/data/use_block";
import { words } from "@report/parts/columns";
import { type Column, Table } from "@report/parts/table";
import { Note } from "@report/parts/text";

type Row = { readonly partition: number; readonly values: TileValues["rows"][number] };

export function ValuesOfTile({ call, tile }: { call: number; tile: Tile }) {
  const loaded = useBlock<readonly TileValues[]>(page, `onchip/${call}/values`);
  const name = shortText(tile.name ?? "unnamed tile", 60);
  if (loaded.state === "failed") return <Note kind="warning">{loaded.reason}</Note>;
  if (loaded.state === "missing") {
    return (
      <p class="muted" id="no-values">
        What tiles held was not recorded. A recording with KVTRACE_TENSORS=all keeps a corner of the
        first 64 tiles of a call's first program.
      </p>
    );
  }
  if (loaded.state !== "ready") return <p class="muted">…</p>;
  const sample = loaded.value.find((candidate) => candidate.tile === tile.number);
  if (!sample) {
    return (
      <p class="muted" id="no-values">
        {name} is not among the {plural(loaded.value.length, "tile")} whose values were kept: the
        first ones of the first program.
      </p>
    );
  }
  const rows = sample.rows.map((values, partition): Row => ({ partition, values }));
  const along = sample.rows[0]?.length ?? 0;
  const columns: Column<Row>[] = [
    { label: "Partition", number: true, cell: (row) => row.partition, key: (row) => row.partition },
    ...Array.from({ length: along }, (_, at) =>
      words(String(at), (row: Row) => valueText(row.values[at] ?? null)),
    ),
  ];
  return (
    <>
      <p class="small">
        {name}, {shortText(sample.dtype)}, at the end of the call: {formatCount(rows.length)} of{" "}
        {plural(sample.partitions, "partition")}, {formatCount(along)} of{" "}
        {plural(sample.elements, "element")} of each. Measured; “–” was never written.
      </p>
      <Table
        id="onchip-values"
        caption={`Values of ${name}`}
        columns={columns}
        rows={rows}
        height={14}
      />
    </>
  );
}

function valueText(value: number | string | null): string {
  if (value === null) return "–";
  return typeof value === "string" ? value : String(Number(value.toPrecision(7)));
}
