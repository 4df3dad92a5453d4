// Who accesses the chosen element.

import { useMemo } from "preact/hooks";

import { formatCount, plural, shortText, threeFigures } from "../../data/format";
import { figure, words } from "../../parts/columns";
import { Table } from "../../parts/table";
import { countAt } from "./counts";
import { ALL, type Executions } from "./layout";
import type { Scene } from "./map_colours";
import { ownIndex, type Touched } from "./scene";
import { choose, type Place, programPlace, programText } from "./state";
import { isInside } from "./tensor";
import { type Touch, touchesOf } from "./touching";

const MOST = 200;

export function ElementPanel(props: {
  touched: Touched;
  grid: Place;
  offset: number;
  text: string;
}) {
  const { touched, grid, offset } = props;
  const touches = useMemo(() => touchesAt(touched, ALL, offset, MOST), [touched, offset]);
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
      <Table<Touch>
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

function touchesAt(touched: Touched, wanted: Executions, offset: number, most: number) {
  const { accesses, unit, width } = touched;
  return touchesOf(accesses, wanted, offset * unit, width * unit, most);
}

/** Its index, element and byte, how often and by whom it is accessed, and its value. */
export function placeText(
  { look, counts, marks, values }: Scene,
  touched: Touched,
  wanted: Executions,
  grid: Place,
  offset: number,
): string {
  const name = shortText(touched.name, 40);
  const many = countAt(counts, offset);
  const touches = many ? touchesAt(touched, wanted, offset, 4) : [];
  const programs = [...new Set(touches.map(({ program }) => programText(program, grid)))];
  const mark = marks.find((each) => each.offset === offset);
  const value = values?.at(offset * touched.unit) ?? null;
  return [
    isInside(look, offset)
      ? `${name}[${ownIndex(touched, offset).join(", ")}]`
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
