// An element of a tensor: what is known of it and who accesses it; and all of them as a table.

import { useMemo } from "preact/hooks";
import { setQuery } from "../../app/router";
import { formatCount, formatTuple, plural, shortText, threeFigures } from "../../data/format";
import { figure, words } from "../../parts/columns";
import { Table } from "../../parts/table";
import { ALL, type Executions, touchesOf } from "../../accesses/records";
import { binsOf, countAt } from "../../accesses/counts";
import { binStart, type Span } from "../../data/tensors";
import { isInside } from "../../accesses/look";
import { ownIndex, type Scene, type Touched } from "./scene";
import { type Place, programQuery, programText } from "./state";

const MOST = 200;

function touchesAt(
  { accesses, unit, width }: Touched,
  wanted: Executions,
  at: number,
  most: number,
) {
  return touchesOf(accesses, wanted, at * unit, width * unit, most);
}

interface ElementPanelProps {
  readonly scene: Scene;
  readonly grid: Place;
  readonly offset: number;
  readonly text: string;
}

export function ElementPanel({ scene: { touched }, grid, offset, text }: ElementPanelProps) {
  const touches = useMemo(() => touchesAt(touched, ALL, offset, MOST), [touched, offset]);
  return (
    <div class="panel" id="element">
      <p class="wrap">{text}</p>
      <p class="small muted">
        Accessed in {touches.length >= MOST ? "at least " : ""}
        {plural(touches.length, "execution")} of this op, over all programs. Choose one to see its
        accesses alone.{" "}
        <button type="button" class="quiet small" onClick={() => setQuery({ el: null })}>
          Close
        </button>
      </p>
      <Table<Executions>
        id="element-table"
        caption="Executions that access the element"
        columns={[
          words("Program", ({ program }) => programText(program, grid), {
            source: "derived",
            key: ({ program }) => program,
          }),
          figure("Iteration", "derived", ({ iteration }) => iteration),
        ]}
        rows={touches}
        onChoose={({ program, iteration }) =>
          setQuery({ p: programQuery(program, grid), it: iteration })
        }
        height={6}
      />
    </div>
  );
}

/** Its index, element and byte, how often and by whom it is accessed, and its value. */
export function placeText(
  { look, counts, marks, values, touched, wanted }: Scene,
  grid: Place,
  offset: number,
): string {
  const name = shortText(touched.name, 40);
  const many = countAt(counts, offset);
  const touches = many ? touchesAt(touched, wanted, offset, 4) : [];
  const programs = [...new Set(touches.map(({ program }) => programText(program, grid)))];
  const mark = marks.find((each) => each.offset === offset);
  const value = values?.at(offset * touched.unit) ?? null;
  const index = ownIndex(touched, offset);
  return [
    isInside(look, offset)
      ? `${name}${index ? `[${index.join(", ")}]` : ""}`
      : `outside of ${name}`,
    `element ${formatCount(offset)}`,
    `byte ${formatCount(offset * touched.unit)}`,
    plural(many, "access", "accesses"),
    programs.length ? `by ${programs.slice(0, 3).join(" ")}${programs.length > 3 ? " …" : ""}` : "",
    value === null ? "" : `value ${threeFigures(value)}`,
    mark ? shortText(mark.text, 160) : "",
  ]
    .filter(Boolean)
    .join(" · ");
}

interface TableProps {
  readonly scene: Scene;
  readonly id?: string;
  onChoose?(offset: number): void;
}

/** Each element that is accessed, or regions where there are too many of them. */
export function CountTable(props: TableProps) {
  return props.scene.counts.dense ? <Elements {...props} /> : <Regions {...props} />;
}

function Elements({ scene, id = "elements", onChoose }: TableProps) {
  const { counts, values, touched } = scene;
  const { low, counts: dense } = counts.dense ?? { low: 0, counts: new Uint32Array() };
  const rows = useMemo(
    () => Uint32Array.from(dense.keys()).filter((place) => dense[place] !== 0),
    [counts],
  );
  return (
    <Table<number>
      id={id}
      caption="Elements that are accessed"
      columns={[
        figure("Element", null, (row) => row + low),
        words("Index", (row) => formatTuple(ownIndex(touched, row + low))),
        figure("byte", null, (row) => (row + low) * touched.unit),
        figure("accesses", "derived", (row) => dense[row]),
        values &&
          figure("value", "measured", (row) => values.at((row + low) * touched.unit), "number"),
      ]}
      rows={rows}
      {...(onChoose && { onChoose: (row: number) => onChoose(row + low) })}
      height={10}
    />
  );
}

/** Regions each way. */
const MOST_REGIONS = 16;

function Regions({ scene: { look, counts, slice } }: TableProps) {
  const whole = (end: number): Span => ({ first: 0, end, bins: Math.min(end, MOST_REGIONS) });
  const [rows, columns] = [whole(look.rows.size), whole(look.columns.size)];
  const bins = useMemo(() => binsOf(counts, look, { slice, rows, columns }), [look, counts, slice]);
  const places = useMemo(() => [...bins.counts.keys()], [bins]);
  const span = (label: string, of: Span, place: (bin: number) => number) =>
    words<number>(
      label,
      (bin) => {
        const [first, last] = [binStart(of, place(bin)), binStart(of, place(bin) + 1) - 1];
        return first === last ? formatCount(first) : `${formatCount(first)} – ${formatCount(last)}`;
      },
      { key: place },
    );
  return (
    <Table<number>
      id="regions"
      caption="Regions of the tensor"
      columns={[
        span("Rows", rows, (bin) => Math.floor(bin / columns.bins)),
        span("Columns", columns, (bin) => bin % columns.bins),
        figure(
          "accesses",
          "derived",
          (bin) => bins.counts[bin],
          (count) => `${bins.sampled ? "about " : ""}${formatCount(Math.round(count ?? 0))}`,
        ),
      ]}
      rows={places}
      height={10}
    />
  );
}
