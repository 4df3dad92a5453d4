// Where a storage is wrong: the largest error of each part of it, in colors and as a table.

import { useCallback, useMemo } from "preact/hooks";
import { chosenNumber, setQuery } from "@report/app/router";
import { plural } from "@report/data/format";
import { page } from "@report/data/page";
import type { CheckRow, ErrorMap } from "../model";
import { type Span } from "@report/data/tensors";
import { useBlock } from "@report/data/use_block";
import { WithTable } from "@report/parts/beside";
import { CellMap } from "@report/parts/cell_map";
import { heatColor, rgbOf } from "@report/parts/colors";
import { figure, words } from "@report/parts/columns";
import { Value } from "@report/parts/figure";
import { type Column, Table } from "@report/parts/table";
import { Note } from "@report/parts/text";
import { spanOfCell, tensorOf } from "./rows";

/** Errors below this part of the root mean square are as good as none in the colors. */
const LEAST = 1e-8;

/** Between 0 and 1, by orders of magnitude; null, an infinite error, is the hottest. */
export function errorHeat(error: number | null, most: number): number {
  if (error === null) return 1;
  if (error <= LEAST || most <= LEAST) return 0;
  return Math.log(error / LEAST) / Math.log(most / LEAST);
}

export function ErrorMapPart({ row }: { row: CheckRow }) {
  const loaded = useBlock<ErrorMap>(page, `checks/${row.number}`);
  if (loaded.state === "missing") return <Note>The map of its errors is not on the page.</Note>;
  if (loaded.state === "failed") return <Note kind="warning">{loaded.reason}</Note>;
  return loaded.state === "ready" ? <Shown row={row} map={loaded.value} /> : null;
}

function Shown({ row, map: { columns, errors } }: { row: CheckRow; map: ErrorMap }) {
  const rows = Math.ceil(errors.length / columns);
  const last = tensorOf(row)?.shape?.at(-1) ?? 1;
  const wide = Math.max(1, Math.min(last, row.elements ?? 1));
  const tall = Math.ceil((row.elements ?? 1) / wide);
  const most = errors.reduce<number>((most, error) => Math.max(most, error ?? 0), 0);
  const at = chosenNumber("cell");
  const painter = useCallback(
    (_rows: Span, _columns: Span) => (_bin: number, down: number, across: number) =>
      rgbOf(heatColor(errorHeat(errors[down * columns + across] ?? null, most))),
    [errors, columns, most],
  );
  const describe = (down: number, across: number): string => {
    const [rowSpan, columnSpan] = [
      spanOfCell(down, rows, tall),
      spanOfCell(across, columns, wide),
    ].map(([first, end]) => (end - first > 1 ? `s ${first} to ${end - 1}` : ` ${first}`));
    const error = errors[down * columns + across];
    return `row${rowSpan}, column${columnSpan}: ${error?.toPrecision(3) ?? "infinity"}`;
  };
  const cells = useMemo(() => [...errors.keys()], [errors]);
  const listed: readonly Column<number>[] = [
    words("Part", (cell) => describe(Math.floor(cell / columns), cell % columns).split(":")[0]),
    figure(
      "Largest error",
      "derived",
      (cell) => errors[cell] ?? Infinity,
      (value) => (value === Infinity ? "infinite" : (value?.toPrecision(3) ?? "–")),
    ),
  ];
  return (
    <>
      <p class="small">
        The largest error of each part of {row.name}, relative to the root mean square of its
        elements: from nothing to <Value source="derived">{most.toPrecision(3)}</Value>, by orders
        of magnitude.
        {tensorOf(row)?.shape?.length === 2 ? null : " Rows are those of its last axis."}
      </p>
      <WithTable
        name="Map of errors"
        canvas={
          <CellMap
            id="error-map"
            label={`Errors of ${row.name ?? "a tensor"}, ${plural(rows, "row")} of ${plural(columns, "part")}`}
            height={320}
            rows={[0, rows]}
            columns={columns}
            rings={
              at === null
                ? []
                : [{ row: Math.floor(at / columns), column: at % columns, color: "accent" }]
            }
            chosen={at === null ? null : [Math.floor(at / columns), at % columns]}
            resetOn={row.number}
            painter={painter}
            describe={describe}
            onChoose={(down, across) => setQuery({ cell: down * columns + across })}
            onLeave={() => setQuery({ cell: null })}
          />
        }
        table={() => (
          <Table
            id="error-parts"
            caption="Errors of parts"
            columns={listed}
            rows={cells}
            sort="Largest error"
            height={12}
          />
        )}
      />
      {at === null || at >= errors.length ? null : (
        <p id="chosen-cell">{describe(Math.floor(at / columns), at % columns)}</p>
      )}
    </>
  );
}
