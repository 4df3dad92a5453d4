// All ops as a table, filtered by the search and by a line of the source.

import { useMemo } from "preact/hooks";
import { setQuery } from "@report/app/router";
import type { Format } from "@report/data/format";
import { formatCount, plural } from "@report/data/format";
import type { Frame } from "@report/data/types";
import type { GraphColumns } from "../model";
import { code, figure, words } from "@report/parts/columns";
import { matches } from "@report/parts/search";
import { type Column, Table } from "@report/parts/table";
import { framesOf, nameOf, opcodeOf, placeText, typeText } from "./blocks";

interface OpTableProps {
  readonly graph: GraphColumns;
  readonly found: ReadonlySet<number> | null;
  readonly chosen: number | null;
}

export function OpTable({ graph, found, chosen }: OpTableProps) {
  const rows = useMemo(
    () => Uint32Array.from(found ? [...found].sort((a, b) => a - b) : graph.opcode.keys()),
    [graph, found],
  );
  const columns = useMemo<readonly Column<number>[]>(() => opColumns(graph), [graph]);
  return (
    <>
      {found ? (
        <p class="small muted" id="found">
          {plural(rows.length, "op")} of {formatCount(graph.opcode.length)}
        </p>
      ) : null}
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

function opColumns(graph: GraphColumns): Column<number>[] {
  const column = (label: "read" | "written" | "FLOPs" | "live", as: Format, title: string) => {
    const values = graph[label === "FLOPs" ? "flops" : label];
    return figure<number>(label, "derived", (op) => values[op], as, title);
  };
  return [
    words("Op", (op) => `%${op}`, { key: (op) => op }),
    words("Opcode", (op) => opcodeOf(graph, op)),
    code("Result", (op) => typeText(graph, op)),
    words("Name", (op) => nameOf(graph, op) ?? "", { limit: 60 }),
    words("Reads", (op) => (graph.operands[op] ?? []).map((each) => `%${each}`).join(" "), {
      limit: 40,
    }),
    column("read", "bytes", "Bytes it reads, as if it ran by itself"),
    column("written", "bytes", "Bytes it writes"),
    column("FLOPs", "flops", "Floating-point operations, from shapes"),
    column("live", "bytes", "Bytes live while it runs"),
    {
      label: "Source",
      cell: (op) => placeText(graph, op),
      key: (op) => placeText(graph, op),
      text: (op) => framesOf(graph, op).map(frameText).join(" < "),
    },
  ];
}

interface Wanted {
  readonly words: string;
  readonly file: string | null;
  readonly line: number | null;
}

/** null: nothing is asked for, so that all fit. */
export function foundOps(
  graph: GraphColumns,
  { words, file, line }: Wanted,
): ReadonlySet<number> | null {
  if (!words.trim() && line === null) return null;
  const onLine = (op: number): boolean =>
    framesOf(graph, op).some((frame) => frame[1] === line && (file === null || frame[0] === file));
  const texts = (op: number): string[] => {
    const { input, output, aliases } = graph.names[op] ?? {};
    const places = framesOf(graph, op).map((frame) => frameText(frame));
    const own = `%${op} ${opcodeOf(graph, op)} ${typeText(graph, op)}`;
    return [own, `${input} ${output} ${aliases}`, ...places];
  };
  const fits = (op: number): boolean =>
    (line === null || onLine(op)) && (!words.trim() || matches(words, ...texts(op)));
  return new Set([...graph.opcode.keys()].filter(fits));
}

function frameText([file, line, name]: Frame): string {
  return `${file ?? ""}:${line ?? ""} ${name ?? ""}`;
}

interface End {
  readonly op: number;
  readonly way: "input" | "output";
  readonly name: string;
  readonly alias: string;
}

export function Ends({ graph }: { graph: GraphColumns }) {
  const rows = useMemo(() => endsOf(graph), [graph]);
  const columns: readonly Column<End>[] = [
    words("Way", ({ way }) => way),
    words("Name", ({ name }) => name, { limit: 120 }),
    code("Type", ({ op }) => typeText(graph, op)),
    figure("bytes", "derived", ({ op }) => graph.bytes[op], "bytes"),
    words("In place", ({ alias }) => alias, { limit: 160 }),
    words("Op", ({ op }) => `%${op}`, { key: ({ op }) => op }),
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
  const writers = new Map(
    entries.flatMap(({ aliases, output }): [string | null, string][] =>
      aliases ? [[aliases, output ?? ""]] : [],
    ),
  );
  const ends = (way: End["way"], alias: (names: (typeof entries)[number]) => string): End[] =>
    entries.flatMap((names) => {
      const name = names[way];
      return name === null ? [] : [{ op: names.op, way, name, alias: alias(names) }];
    });
  return [
    ...ends("input", ({ input }) =>
      writers.has(input) ? `written by the result ${writers.get(input)}` : "",
    ),
    ...ends("output", ({ aliases }) => (aliases ? `written into ${aliases}` : "")),
  ];
}
