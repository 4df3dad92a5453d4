// Who accesses the chosen element.

import { formatCount, shortText, threeFigures } from "../../data/format";
import { countAt } from "./counts";
import type { Executions } from "./layout";
import type { Scene } from "./map_colours";
import { type Touched, ownIndex } from "./scene";
import { type Place, programText } from "./state";
import { isInside } from "./tensor";
import { touchesOf } from "./touching";

import { useMemo } from "preact/hooks";

import { figure, words } from "../../parts/columns";
import { plural } from "../../data/format";
import { type Column, Table } from "../../parts/table";
import { choose, programPlace } from "./state";
import { type Touch } from "./touching";

const MOST = 200;

export function ElementPanel(props: {
  touched: Touched;
  grid: Place;
  wanted: Executions;
  offset: number;
  text: string;
}) {
  const { touched, grid, offset } = props;
  const touches = useMemo(
    () =>
      touchesOf(
        touched.accesses,
        { program: null, iteration: null },
        offset * touched.unit,
        touched.width * touched.unit,
        MOST,
      ),
    [touched, offset],
  );
  const columns: Column<Touch>[] = [
    words("Program", ({ program }) => programText(program, grid), {
      source: "derived",
      key: ({ program }) => program,
    }),
    figure("Iteration", "derived", ({ iteration }) => iteration),
  ];
  return (
    <div class="panel" id="element">
      <p class="wrap">{props.text}</p>
      <p class="small muted">
        Accessed in {touches.length >= MOST ? "at least " : ""}
        {plural(touches.length, "execution")} of this op, over all programs. Choose one to see its
        accesses alone.{" "}
        <button type="button" class="quiet small" onClick={() => choose({ el: null })}>
          Close
        </button>
      </p>
      <Table
        id="element-table"
        caption="Executions that access the element"
        columns={columns}
        rows={touches}
        onChoose={({ program, iteration }) =>
          choose({
            p: program === null ? null : programPlace(program, grid).join(","),
            it: iteration,
          })
        }
        height={6}
      />
    </div>
  );
}

/** Its index, element and byte, how often and by whom it is accessed, and its value. */
export function placeText(
  { look, counts, marks, values }: Scene,
  touched: Touched,
  wanted: Executions,
  grid: Place,
  offset: number,
): string {
  const bytes = offset * touched.unit;
  const many = countAt(counts, offset);
  const touches = many
    ? touchesOf(touched.accesses, wanted, bytes, touched.width * touched.unit, 4)
    : [];
  const programs = [...new Set(touches.map(({ program }) => programText(program, grid)))];
  const mark = marks.find((each) => each.offset === offset);
  const value = values?.at(bytes);
  return [
    isInside(look, offset)
      ? `${shortText(touched.name, 40)}[${ownIndex(touched, offset).join(", ")}]`
      : `outside of ${shortText(touched.name, 40)}`,
    `element ${formatCount(offset)}`,
    `byte ${formatCount(bytes)}`,
    `${formatCount(many)} ${many === 1 ? "access" : "accesses"}`,
    programs.length ? `by ${programs.slice(0, 3).join(" ")}${programs.length > 3 ? " …" : ""}` : "",
    value === null || value === undefined ? "" : `value ${threeFigures(value)}`,
    mark ? shortText(mark.text, 160) : "",
  ]
    .filter(Boolean)
    .join(" · ");
}
