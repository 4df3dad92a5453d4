// The map as a table: each element that is accessed.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";

import { UNKNOWN, formatCount, formatTuple, threeFigures } from "../../data/format";
import { type Column, Table } from "../../parts/table";
import { countAt } from "./counts";
import type { Scene } from "./map_paint";
import { type Touched, ownIndex } from "./scene";

export function ElementTable(props: {
  scene: Scene;
  touched: Touched;
  id?: string;
  onChoose?(offset: number): void;
}): JSX.Element {
  const { scene, touched } = props;
  const { counts, values, unit } = scene;
  const low = counts.dense?.low ?? 0;
  const rows = useMemo(() => touchedPlaces(scene), [counts]);
  const columns: Column<number>[] = [
    {
      label: "Element",
      number: true,
      cell: (row) => formatCount(row + low),
      key: (row) => row + low,
    },
    {
      label: "Index",
      cell: (row) => formatTuple(ownIndex(touched, row + low)),
      text: (row) => formatTuple(ownIndex(touched, row + low)),
    },
    {
      label: "byte",
      number: true,
      cell: (row) => formatCount((row + low) * unit),
      key: (row) => (row + low) * unit,
    },
    {
      label: "accesses",
      source: "derived",
      number: true,
      cell: (row) => formatCount(countAt(counts, row + low)),
      key: (row) => countAt(counts, row + low),
    },
    {
      label: "value",
      source: "measured",
      number: true,
      cell: (row) => shown(values?.at((row + low) * unit)),
      key: (row) => values?.at((row + low) * unit) ?? null,
    },
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
