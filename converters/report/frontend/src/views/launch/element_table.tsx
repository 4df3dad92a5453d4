// The map as a table: each element that is accessed.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";

import { UNKNOWN, formatCount, formatTuple, threeFigures } from "../../data/format";
import { type Column, Table } from "../../parts/table";
import { Note } from "../../parts/text";
import { countAt } from "./counts";
import type { Scene } from "./map_paint";
import { indexOf } from "./scene";

export function ElementTable(props: { scene: Scene; first: number; onChoose(offset: number): void }): JSX.Element {
  const { scene } = props;
  const { counts, look, values, unit } = scene;
  const low = counts.dense?.low ?? 0;
  const rows = useMemo(() => touchedPlaces(scene), [counts]);
  if (!counts.dense) return <Note>There are too many elements to list them; zoom in and point at them.</Note>;
  const columns: Column<number>[] = [
    { label: "Element", number: true, cell: (row) => formatCount(row + low), key: (row) => row + low },
    { label: "Index", cell: (row) => formatTuple(indexOf(look, row + low)), text: (row) => formatTuple(indexOf(look, row + low)) },
    { label: "byte", number: true, cell: (row) => formatCount((row + low) * unit), key: (row) => (row + low) * unit },
    { label: "accesses", source: "derived", number: true, cell: (row) => formatCount(countAt(counts, row + low)), key: (row) => countAt(counts, row + low) },
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
      id="elements"
      caption="Elements that are accessed"
      columns={values ? columns : columns.slice(0, -1)}
      rows={rows as unknown as ArrayLike<number>}
      onChoose={(row) => props.onChoose(row + low)}
      height={10}
    />
  );
}

function shown(value: number | null | undefined): string {
  return value === null || value === undefined ? UNKNOWN : threeFigures(value);
}

/** Places in the dense counts that are not 0. */
function touchedPlaces({ counts }: Scene): Uint32Array {
  const { dense, touched } = counts;
  const places = new Uint32Array(touched ?? 0);
  let length = 0;
  dense?.counts.forEach((count, place) => {
    if (count === 0) return;
    places[length] = place;
    length += 1;
  });
  return places;
}
