// What goes into a graph and what comes out, and what is written in place.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";

import { setQuery } from "../../app/router";
import { formatBytes, shortText } from "../../data/format";
import { type Column, Table } from "../../parts/table";
import { type GraphColumns, typeText } from "./blocks";

interface End {
  readonly op: number;
  readonly way: "input" | "output";
  readonly name: string;
  readonly alias: string;
}

export function Ends({ graph }: { graph: GraphColumns }): JSX.Element {
  const rows = useMemo(() => endsOf(graph), [graph]);
  const columns: readonly Column<End>[] = [
    { label: "Way", cell: ({ way }) => way, key: ({ way }) => way },
    { label: "Name", cell: ({ name }) => shortText(name, 120), key: ({ name }) => name },
    { label: "Type", cell: ({ op }) => <code>{typeText(graph, op)}</code>, key: ({ op }) => typeText(graph, op) },
    { label: "bytes", source: "derived", number: true, cell: ({ op }) => formatBytes(graph.bytes[op]), key: ({ op }) => graph.bytes[op] ?? null },
    { label: "In place", cell: ({ alias }) => shortText(alias, 160), key: ({ alias }) => alias },
    { label: "Op", number: true, cell: ({ op }) => `%${op}`, key: ({ op }) => op },
  ];
  return (
    <Table
      id="ends"
      caption="Inputs and outputs of the graph"
      columns={columns}
      rows={rows}
      onChoose={({ op }) => setQuery({ op })}
      height={12}
      empty="It has neither inputs nor outputs."
    />
  );
}

function endsOf(graph: GraphColumns): End[] {
  const entries = Object.entries(graph.names).map(([op, names]) => ({ op: Number(op), ...names }));
  const writers = new Map(entries.flatMap(({ aliases, output }) => (aliases ? [[aliases, output ?? ""] as const] : [])));
  const found = entries.flatMap(({ op, input, output, aliases }): End[] => [
    ...(input === null ? [] : [{ op, way: "input" as const, name: input, alias: writers.has(input) ? `written by the result ${writers.get(input)}` : "" }]),
    ...(output === null ? [] : [{ op, way: "output" as const, name: output, alias: aliases ? `written into ${aliases}` : "" }]),
  ]);
  return found.sort((a, b) => a.way.localeCompare(b.way) || a.op - b.op);
}
