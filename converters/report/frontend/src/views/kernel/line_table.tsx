// The heat of all lines of a file as a table.

import { useMemo } from "preact/hooks";
import type { SourceFile } from "../../data/types";
import { formatted } from "../../data/format";
import { code, fieldsOf, figure, words } from "../../parts/columns";
import { type Column, Table } from "../../parts/table";
import type { LinesBlock, SourceLineFigures } from "./blocks";
import type { Place } from "./state";

interface LineTableProps {
  readonly figures: ReadonlyMap<number, SourceLineFigures>;
  readonly block: LinesBlock;
  readonly text: string;
  readonly file: SourceFile | null;
  readonly active: Place | null;
  onChoose(place: Place): void;
}

/** A value, ~ before one of a model, or why it is unknown. */
function layoutText(figures: SourceLineFigures | undefined, name: string, known: string): string {
  const reason = figures?.layout.unknown[name];
  if (reason !== undefined) return `unknown: ${reason}`;
  return figures?.layout.by_model && name === "bank_ways" ? `~${known}` : known;
}

export function LineTable(props: LineTableProps) {
  const { figures, block, text, file, active } = props;
  const rows = useMemo(() => [...figures.keys()].sort((a, b) => a - b), [figures]);
  const lines = useMemo(() => text.split("\n"), [text]);
  const lineOf = (line: number): string => lines[line - (file?.first_line ?? 1)]?.trim() ?? "";
  const field = fieldsOf((line: number) => figures.get(line));
  const source = block.measured ? "measured" : "derived";
  const columns: Column<number>[] = [
    figure("Line", null, (line) => line, String),
    code("Code", lineOf, { limit: 80 }),
    field(
      "time share",
      source,
      "time_share",
      "share",
      "Share of the sum of all ops' roofline times",
    ),
    field("bytes", source, "bytes", "bytes", "Bytes of active lanes, over all runs"),
    field(
      "distinct bytes",
      source,
      "unique_bytes",
      "bytes",
      "Distinct bytes of each launch, summed",
    ),
    field("FLOPs", source, "flops", "flops", "FLOPs over all runs"),
    field("masked off", source, "masked_share", "share", "Share of lanes that a mask turns off"),
    field(
      "sectors used",
      source,
      "sector_efficiency",
      "share",
      "Requested share of the bytes of touched 32-byte sectors",
    ),
    ...block.layout_figures.map(({ name, unit, label, meaning }) => {
      const value = (line: number) => figures.get(line)?.layout.values[name];
      return {
        ...figure(label, source, value, unit, meaning),
        cell: (line: number) => layoutText(figures.get(line), name, formatted(value(line), unit)),
      };
    }),
    figure("ops", null, (line) => figures.get(line)?.ops.length),
    words("Whose", (line) => (figures.get(line)?.own ? "own" : "inlined")),
  ];
  return (
    <Table
      id="line-table"
      caption="Figures by line of source"
      columns={columns}
      rows={rows}
      sort="time share"
      height={12}
      chosen={active?.pane === "source" ? active.line : null}
      onChoose={(line) => props.onChoose({ pane: "source", line })}
    />
  );
}
