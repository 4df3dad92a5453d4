// The heat of all lines of a file as a table.

import { useMemo } from "preact/hooks";
import { formatBytes, formatFlops, formatPart, type Maybe, shortText } from "../../data/format";
import type { SourceFile, Text } from "../../data/types";
import type { Loaded } from "../../data/use_block";
import { figure, words } from "../../parts/columns";
import { type Column, Table } from "../../parts/table";
import type { LinesBlock, SourceLineFigures } from "./blocks";
import type { Place } from "./state";

interface LineTableProps {
  readonly figures: ReadonlyMap<number, SourceLineFigures>;
  readonly block: LinesBlock;
  readonly source: Loaded<Text>;
  readonly file: SourceFile | null;
  readonly active: Place | null;
  onChoose(place: Place): void;
}

type Field =
  "time_share" | "bytes" | "unique_bytes" | "flops" | "masked_share" | "sector_efficiency";

export function LineTable(props: LineTableProps) {
  const { figures, block, source, file, active } = props;
  const rows = useMemo(() => [...figures.keys()].sort((a, b) => a - b), [figures]);
  const text = source.state === "ready" ? source.value.text : "";
  const lines = useMemo(() => text.split("\n"), [text]);
  const code = (line: number): string => lines[line - (file?.first_line ?? 1)]?.trim() ?? "";
  const column = (
    label: string,
    field: Field,
    format: (value: Maybe<number>) => string,
    title: string,
  ): Column<number> =>
    figure(
      label,
      block.measured ? "measured" : "derived",
      (line) => figures.get(line)?.[field],
      format,
      title,
    );
  const columns: Column<number>[] = [
    figure("Line", null, (line) => line, String),
    { label: "Code", cell: (line) => <code>{shortText(code(line), 80)}</code>, text: code },
    column("time share", "time_share", formatPart, "Of the sum of all ops' times at best"),
    column("bytes", "bytes", formatBytes, "Of active lanes"),
    column("distinct bytes", "unique_bytes", formatBytes, "Of each launch, summed"),
    column("FLOPs", "flops", formatFlops, "Over all runs"),
    column("masked off", "masked_share", formatPart, "Share of lanes that a mask switched off"),
    column(
      "sectors used",
      "sector_efficiency",
      formatPart,
      "Share of the bytes of touched sectors",
    ),
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
