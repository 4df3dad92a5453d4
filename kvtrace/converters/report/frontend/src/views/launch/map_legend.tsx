// What the colours of a map mean, and what it counts.

import { useMemo } from "preact/hooks";

import { figure } from "../../parts/columns";
import { type Column, Table } from "../../parts/table";
import { Note } from "../../parts/text";
import { subsetColour } from "./map_colours";
import { type Place, choose, programPlace, programText } from "./state";
import type { Subset, Subsets } from "./subsets";

import { formatCount, formatShare, threeFigures } from "../../data/format";
import { Figure, Figures } from "../../parts/figure";
import type { Scene } from "./map_colours";
import type { Touched } from "./scene";

export function CountFigures(props: { scene: Scene; touched: Touched }) {
  const { counts, look, lanes } = props.scene;
  const masked = lanes ? (lanes.total - counts.total) / props.touched.width : 0;
  const units = props.touched.unit;
  return (
    <Figures id="map-figures">
      <Figure
        name="accesses"
        value={counts.total}

        how="Elements accessed, each as often as it is, in what is chosen"
        {...(props.touched.width > 1
          ? { detail: `derived, ${props.touched.width} elements a lane` }
          : {})}
      />
      <Figure
        name="elements touched"
        value={counts.touched}

        how={`Distinct elements of ${units} ${units === 1 ? "byte" : "bytes"}; not counted above 16 M elements`}
        detail={`derived, ${formatShare(counts.touched, Math.min(look.elements, look.extent))} of the tensor`}
      />
      <Figure
        name="most often"
        value={counts.most}

        how="Accesses of the element that is accessed most"
      />
      <Figure
        name="first byte"
        value={Number.isFinite(counts.first) ? counts.first * units : null}
        shown={Number.isFinite(counts.first) ? formatCount(counts.first * units) : "–"}
        how="From the argument's data pointer; below 0 is before the tensor"
      />
      <Figure
        name="last byte"
        value={Number.isFinite(counts.last) ? (counts.last + 1) * units - 1 : null}
        shown={Number.isFinite(counts.last) ? formatCount((counts.last + 1) * units - 1) : "–"}
        how="From the argument's data pointer"
      />
      <Figure
        name="masked lanes"
        value={masked}

        how="Lanes that the mask turns off in the accesses shown; accesses with no lane left are not among them"
      />
      <Figure
        name="outside the tensor"
        value={counts.outside}

        how="Accesses before the first or past the last element"
      />
    </Figures>
  );
}

export function Legend(props: { scene: Scene }) {
  const { counts, context, lanes, most, values, colour } = props.scene;
  const byValue = colour === "value" ? values : null;
  const scale = byValue
    ? `${threeFigures(byValue.min ?? 0)} to ${threeFigures(byValue.max ?? 0)}`
    : `1 access to ${most === null ? "the most" : formatCount(most)}`;
  const keys: readonly (readonly [shown: boolean, kind: string, text: string])[] = [
    [byValue !== null && byValue.nan > 0, "nan", "not a number"],
    [!byValue && lanes !== null, "masked", "masked lanes only"],
    [!byValue && context !== null, "context", "by other programs or iterations"],
    [counts.outside > 0, "outside", "outside the tensor"],
  ];
  return (
    <p class="small muted launch-legend">
      <span class="launch-scale" aria-hidden="true" /> {scale}{" "}
      {byValue
        ? "(measured: as recorded before the first launch), pale where not accessed"
        : "(derived)"}
      {keys.map(([shown, kind, text]) =>
        shown ? (
          <span key={kind}>
            <span class={`launch-key ${kind}`} aria-hidden="true" /> {text}
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

export function SubsetLegend(props: { subsets: Subsets | null; grid: Place }) {
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
    figure("how many", "derived", ({ programs }) => programs.length),
    figure("elements", "derived", ({ elements }) => elements),
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
