// All ops as a table, filtered by the search and by a line of the source.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";

import { setQuery } from "../../app/router";
import { formatBytes, formatCount, formatFlops, plural, shortText } from "../../data/format";
import type { Page } from "../../data/page";
import { type Column, Table } from "../../parts/table";
import { type GraphColumns, framesOf, nameOf, opcodeOf, placeText, typeText } from "./blocks";

interface OpTableProps {
  readonly page: Page;
  readonly graph: GraphColumns;
  readonly found: ReadonlySet<number> | null;
  readonly chosen: number | null;
}

export function OpTable({ page, graph, found, chosen }: OpTableProps): JSX.Element {
  const rows = useMemo(
    () => Uint32Array.from(found ? [...found].sort((a, b) => a - b) : graph.opcode.keys()),
    [graph, found],
  );
  const columns = useMemo<readonly Column<number>[]>(() => opColumns(page, graph), [page, graph]);
  return (
    <>
      {found ? <p class="small muted" id="found">{plural(rows.length, "op")} of {formatCount(graph.opcode.length)}</p> : null}
      <Table
        id="ops-table"
        caption="Ops of the graph, in the order of the trace"
        columns={columns}
        rows={rows}
        chosen={chosen}
        onChoose={(op) => setQuery({ op })}
        height={14}
        empty="No op fits the search."
      />
    </>
  );
}

function opColumns(page: Page, graph: GraphColumns): Column<number>[] {
  const figure = (label: string, title: string, value: (op: number) => number | undefined, shown: (value: number | undefined) => string): Column<number> => ({
    label,
    title,
    source: "derived",
    number: true,
    cell: (op) => shown(value(op)),
    key: (op) => value(op) ?? null,
  });
  return [
    { label: "Op", number: true, cell: (op) => `%${op}`, key: (op) => op },
    { label: "Opcode", cell: (op) => opcodeOf(graph, op), key: (op) => opcodeOf(graph, op) },
    { label: "Result", cell: (op) => <code>{typeText(graph, op)}</code>, key: (op) => typeText(graph, op) },
    { label: "Name", cell: (op) => shortText(nameOf(graph, op) ?? "", 60), key: (op) => nameOf(graph, op) ?? "" },
    {
      label: "Reads",
      cell: (op) => shortText((graph.operands[op] ?? []).map((each) => `%${each}`).join(" "), 40),
      text: (op) => (graph.operands[op] ?? []).map((each) => `%${each}`).join(" "),
    },
    figure("read", "Bytes it reads, as if it ran by itself", (op) => graph.read[op], formatBytes),
    figure("written", "Bytes it writes", (op) => graph.written[op], formatBytes),
    figure("FLOPs", "Floating-point operations, from shapes", (op) => graph.flops[op], formatFlops),
    figure("live", "Bytes live while it runs", (op) => graph.live[op], formatBytes),
    {
      label: "Source",
      cell: (op) => placeText(page, graph, op),
      key: (op) => placeText(page, graph, op),
      text: (op) => framesOf(page, graph, op).map(([file, line, name]) => `${file}:${line} ${name}`).join(" < "),
    },
  ];
}
