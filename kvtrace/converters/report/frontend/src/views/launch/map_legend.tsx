// What the colours of a map mean, and what it counts.

import { useMemo } from "preact/hooks";
import { formatCount, formatShare, plural, threeFigures } from "../../data/format";
import { figure, words } from "../../parts/columns";
import { Figures } from "../../parts/figure";
import { Table } from "../../parts/table";
import { Note } from "../../parts/text";
import { type Scene, subsetColour } from "./map_colours";
import type { Touched } from "./scene";
import { choose, type Place, programPlace, programText } from "./state";
import type { Subset, Subsets } from "./subsets";

export function CountFigures({ scene, touched }: { scene: Scene; touched: Touched }) {
  const { counts, look, lanes } = scene;
  const { unit, width } = touched;
  const any = Number.isFinite(counts.first);
  return (
    <Figures
      id="map-figures"
      of={[
        {
          name: "accesses",
          value: counts.total,
          how: "Elements accessed, each as often as it is, in what is chosen",
          detail: width > 1 ? `derived, ${width} elements a lane` : null,
        },
        {
          name: "elements touched",
          value: counts.touched,
          how: `Distinct elements of ${plural(unit, "byte")}; not counted above 16 M elements`,
          detail: `derived, ${formatShare(counts.touched, Math.min(look.elements, look.extent))} of the tensor`,
        },
        {
          name: "most often",
          value: counts.most,
          how: "Accesses of the element that is accessed most",
        },
        {
          name: "first byte",
          value: any ? counts.first * unit : null,
          how: "From the argument's data pointer; below 0 is before the tensor",
        },
        {
          name: "last byte",
          value: any ? (counts.last + 1) * unit - 1 : null,
          how: "From the argument's data pointer",
        },
        {
          name: "masked lanes",
          value: lanes ? (lanes.total - counts.total) / width : 0,
          how: "Lanes that the mask turns off in the accesses shown; accesses with no lane left are not among them",
        },
        {
          name: "outside the tensor",
          value: counts.outside,
          how: "Accesses before the first or past the last element",
        },
      ]}
    />
  );
}

export function Legend({ scene }: { scene: Scene }) {
  const { counts, context, lanes, most, values, colour } = scene;
  const byValue = colour === "value" ? values : null;
  const keys = [
    byValue !== null && byValue.nan > 0 && ["nan", "not a number"],
    !byValue && lanes !== null && ["masked", "masked lanes only"],
    !byValue && context !== null && ["context", "by other programs or iterations"],
    counts.outside > 0 && ["outside", "outside the tensor"],
  ];
  return (
    <p class="small muted launch-legend">
      <span class="launch-scale" aria-hidden="true" />{" "}
      {byValue
        ? `${threeFigures(byValue.min ?? 0)} to ${threeFigures(byValue.max ?? 0)} (measured: as recorded before the first launch), pale where not accessed`
        : `1 access to ${most === null ? "the most" : formatCount(most)} (derived)`}
      {keys.map((key) =>
        key ? (
          <span key={key[0]}>
            <span class={`launch-key ${key[0]}`} aria-hidden="true" /> {key[1]}
          </span>
        ) : null,
      )}
      <span>Click an element; wheel zooms once the map has the focus.</span>
    </p>
  );
}

type Row = Subset & { readonly number: number };

/** Programs that are named; of more of them the first are. */
const MOST_NAMED = 6;

export function SubsetLegend({ subsets, grid }: { subsets: Subsets | null; grid: Place }) {
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
  return (
    <Table<Row>
      id="subsets"
      caption="Programs that access the same elements"
      columns={[
        {
          label: "Colour",
          cell: ({ number }) => (
            <span class="launch-key" style={{ background: subsetColour(number) }} />
          ),
          text: ({ number }) => String(number),
        },
        words("Programs", named, { source: "derived" }),
        figure("how many", "derived", ({ programs }) => programs.length),
        figure("elements", "derived", ({ elements }) => elements),
      ]}
      rows={rows}
      onChoose={({ programs }) => choose({ p: programPlace(programs[0] ?? 0, grid).join(",") })}
      height={8}
    />
  );
}
