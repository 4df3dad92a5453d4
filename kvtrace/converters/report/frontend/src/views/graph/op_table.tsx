// All ops as a table, filtered by the search and by a line of the source.

import { useMemo } from "preact/hooks";
import { setQuery } from "../../app/router";
import { shortText } from "../../data/format";
import { code, figure } from "../../parts/columns";
import { type Column, Table } from "../../parts/table";
import { type GraphColumns, typeText } from "./blocks";
import type { Page } from "../../data/page";
import { framesOf, opcodeOf } from "./blocks";
import { formatCount, plural } from "../../data/format";
import { words } from "../../parts/columns";
import { nameOf, placeText } from "./blocks";

interface OpTableProps {
  readonly page: Page;
  readonly graph: GraphColumns;
  readonly found: ReadonlySet<number> | null;
  readonly chosen: number | null;
}

export function OpTable({ page, graph, found, chosen }: OpTableProps) {
  const rows = useMemo(
    () => Uint32Array.from(found ? [...found].sort((a, b) => a - b) : graph.opcode.keys()),
    [graph, found],
  );
  const columns = useMemo<readonly Column<number>[]>(() => opColumns(page, graph), [page, graph]);
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

function opColumns(page: Page, graph: GraphColumns): Column<number>[] {
  return [
    { label: "Op", number: true, cell: (op) => `%${op}`, key: (op) => op },
    { label: "Opcode", cell: (op) => opcodeOf(graph, op), key: (op) => opcodeOf(graph, op) },
    code("Result", (op) => typeText(graph, op)),
    words("Name", (op) => nameOf(graph, op) ?? "", { limit: 60 }),
    words("Reads", (op) => (graph.operands[op] ?? []).map((each) => `%${each}`).join(" "), {
      limit: 40,
    }),
    figure(
      "read",
      "derived",
      (op) => graph.read[op],
      "bytes",
      "Bytes it reads, as if it ran by itself",
    ),
    figure("written", "derived", (op) => graph.written[op], "bytes", "Bytes it writes"),
    figure(
      "FLOPs",
      "derived",
      (op) => graph.flops[op],
      "flops",
      "Floating-point operations, from shapes",
    ),
    figure("live", "derived", (op) => graph.live[op], "bytes", "Bytes live while it runs"),
    {
      label: "Source",
      cell: (op) => placeText(page, graph, op),
      key: (op) => placeText(page, graph, op),
      text: (op) =>
        framesOf(page, graph, op)
          .map(([file, line, name]) => `${file}:${line} ${name}`)
          .join(" < "),
    },
  ];
}

export interface Wanted {
  readonly words: string;
  readonly file: string | null;
  readonly line: number | null;
}

/** null: nothing is asked for, so that all fit. */
export function foundOps(
  page: Page,
  graph: GraphColumns,
  wanted: Wanted,
): ReadonlySet<number> | null {
  const words = wanted.words.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length && wanted.line === null) return null;
  const places = new Map<number, string>();
  const onLine = new Map<number, boolean>();
  const found = new Set<number>();
  graph.opcode.forEach((_, op) => {
    const stack = graph.stack[op] ?? -1;
    if (wanted.line !== null) {
      if (!onLine.has(stack)) onLine.set(stack, isOnLine(page, graph, op, wanted));
      if (!onLine.get(stack)) return;
    }
    if (!places.has(stack)) places.set(stack, placesText(page, graph, op));
    const { input, output, aliases } = graph.names[op] ?? { input: "", output: "", aliases: "" };
    const text = `%${op} ${opcodeOf(graph, op)} ${typeText(graph, op)} ${input ?? ""} ${output ?? ""} ${aliases ?? ""}`;
    const all = `${text.toLowerCase()} ${places.get(stack)}`;
    if (words.every((word) => all.includes(word))) found.add(op);
  });
  return found;
}

function isOnLine(page: Page, graph: GraphColumns, op: number, { file, line }: Wanted): boolean {
  return framesOf(page, graph, op).some(
    (frame) => frame[1] === line && (file === null || frame[0] === file),
  );
}

function placesText(page: Page, graph: GraphColumns, op: number): string {
  const frames = framesOf(page, graph, op);
  return frames
    .map(([file, line, name]) => `${file ?? ""}:${line ?? ""} ${name ?? ""}`)
    .join(" ")
    .toLowerCase();
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
    { label: "Way", cell: ({ way }) => way, key: ({ way }) => way },
    { label: "Name", cell: ({ name }) => shortText(name, 120), key: ({ name }) => name },
    code("Type", ({ op }) => typeText(graph, op)),
    figure("bytes", "derived", ({ op }) => graph.bytes[op] ?? null, "bytes"),
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
  const writers = new Map(
    entries.flatMap(({ aliases, output }) => (aliases ? [[aliases, output ?? ""] as const] : [])),
  );
  const found = entries.flatMap(({ op, input, output, aliases }): End[] => [
    ...(input === null
      ? []
      : [
          {
            op,
            way: "input" as const,
            name: input,
            alias: writers.has(input) ? `written by the result ${writers.get(input)}` : "",
          },
        ]),
    ...(output === null
      ? []
      : [
          {
            op,
            way: "output" as const,
            name: output,
            alias: aliases ? `written into ${aliases}` : "",
          },
        ]),
  ]);
  return found.sort((a, b) => a.way.localeCompare(b.way) || a.op - b.op);
}
