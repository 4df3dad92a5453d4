// Warnings and notes of kvtrace: launches that it missed, rows that it lost.

import { useMemo } from "preact/hooks";
import { plural } from "../../data/format";
import { page } from "../../data/page";
import type { Message } from "../../data/types";
import { code, figure, words } from "../../parts/columns";
import { type Column, Table } from "../../parts/table";
import { Note, Pill, severityKind } from "../../parts/text";

/** Warnings first: they say what the page does not show. */
const LEVELS = ["error", "warning", "info"];

function rank({ level }: Message): number {
  const place = LEVELS.indexOf(level ?? "info");
  return place < 0 ? LEVELS.length : place;
}

export function Messages() {
  const { notes, messages, runs } = page.report;
  const said = useMemo(
    () =>
      [
        ...notes.map((text) => ({ run: 0, level: "warning", code: "reader", text, count: 1 })),
        ...messages,
      ].sort((a, b) => rank(a) - rank(b)),
    [notes, messages],
  );
  if (!said.length) {
    return <Note>No warnings: kvtrace detected no missed launches and no lost rows.</Note>;
  }
  const columns: (Column<Message> | false)[] = [
    {
      label: "Level",
      cell: ({ level }) => <Pill kind={severityKind(level)}>{level ?? "info"}</Pill>,
      key: (message) => message.level,
    },
    code("Code", (message) => message.code ?? ""),
    words("Message", (message) => message.text ?? "", { prose: true, limit: 1000 }),
    figure("times", null, (message) => message.count),
    runs.length > 1 && { label: "Run", cell: (message) => runs[message.run]?.label ?? "" },
  ];
  const counts = LEVELS.map((level, at) => {
    const many = said.filter((message) => rank(message) === at).length;
    return many ? plural(many, level === "info" ? "note" : level) : "";
  });
  return (
    <details open={said.some((message) => rank(message) < LEVELS.indexOf("info"))}>
      <summary>{counts.filter(Boolean).join(", ")}</summary>
      <Table caption="Messages" columns={columns} rows={said} height={12} />
    </details>
  );
}
