// Who accesses the chosen element.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";

import { formatCount, plural } from "../../data/format";
import { type Column, Table } from "../../parts/table";
import type { Executions } from "./layout";
import type { Touched } from "./scene";
import { type Place, choose, programPlace, programText } from "./state";
import { type Touch, touchesOf } from "./touching";

const MOST = 200;

export function ElementPanel(props: {
  touched: Touched;
  grid: Place;
  wanted: Executions;
  offset: number;
  text: string;
}): JSX.Element {
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
    {
      label: "Program",
      source: "derived",
      cell: ({ program }) => programText(program, grid),
      key: ({ program }) => program,
      text: ({ program }) => programText(program, grid),
    },
    {
      label: "Iteration",
      source: "derived",
      number: true,
      cell: ({ iteration }) => formatCount(iteration),
      key: ({ iteration }) => iteration,
    },
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
