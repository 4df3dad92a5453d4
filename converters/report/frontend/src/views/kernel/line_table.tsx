// The heat of all lines of a file as a table.

import { useMemo } from "preact/hooks";
import type { SourceFile } from "../../data/types";
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
    field("time share", source, "time_share", "share", "Of the sum of all ops' times at best"),
    field("bytes", source, "bytes", "bytes", "Of active lanes"),
    field("distinct bytes", source, "unique_bytes", "bytes", "Of each launch, summed"),
    field("FLOPs", source, "flops", "flops", "Over all runs"),
    field("masked off", source, "masked_share", "share", "Lanes that a mask switched off"),
    field("sectors used", source, "sector_efficiency", "share", "Bytes of touched sectors"),
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
