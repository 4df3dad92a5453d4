// The subsets of programs that a map is coloured by.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";

import { formatCount } from "../../data/format";
import { type Column, Table } from "../../parts/table";
import { Note } from "../../parts/text";
import { subsetColour } from "./map_colours";
import { type Place, choose, programPlace, programText } from "./state";
import type { Subset, Subsets } from "./subsets";

type Row = Subset & { readonly number: number };

/** Programs that are named; of more of them the first are. */
const MOST_NAMED = 6;

export function SubsetLegend(props: { subsets: Subsets | null; grid: Place }): JSX.Element {
  const { subsets, grid } = props;
  const rows = useMemo(
    () =>
      (subsets?.subsets ?? [])
        .map((subset, number): Row => ({ ...subset, number }))
        .filter(({ elements }) => elements > 0)
        .sort((a, b) => b.elements - a.elements),
    [subsets],
  );
  if (!subsets) {
    return (
      <Note>
        There are too many programs or elements to tell them apart; choose one program, or colour by
        accesses.
      </Note>
    );
  }
  const named = ({ programs }: Row): string => {
    const names = programs.slice(0, MOST_NAMED).map((program) => programText(program, grid));
    return `${names.join(" ")}${programs.length > MOST_NAMED ? " …" : ""}`;
  };
  const columns: Column<Row>[] = [
    {
      label: "Colour",
      cell: ({ number }) => (
        <span class="launch-key" style={{ background: subsetColour(number) }} />
      ),
      text: ({ number }) => String(number),
    },
    { label: "Programs", source: "derived", cell: named, text: named },
    {
      label: "how many",
      source: "derived",
      number: true,
      cell: ({ programs }) => formatCount(programs.length),
      key: ({ programs }) => programs.length,
    },
    {
      label: "elements",
      source: "derived",
      number: true,
      cell: ({ elements }) => formatCount(elements),
      key: ({ elements }) => elements,
    },
  ];
  return (
    <Table
      id="subsets"
      caption="Programs that access the same elements"
      columns={columns}
      rows={rows}
      onChoose={({ programs }) => choose({ p: programPlace(programs[0] ?? 0, grid).join(",") })}
      height={8}
    />
  );
}
