// What kvtrace itself had to say: launches that it could not see, rows that it lost.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";

import { formatCount, shortText } from "../../data/format";
import type { Page } from "../../data/page";
import type { Message } from "../../data/types";
import { type Column, Table } from "../../parts/table";
import { Note, Pill, type PillKind } from "../../parts/text";

const KINDS: Readonly<Record<string, PillKind>> = { error: "error", warning: "warning" };

/** Warnings first: they say what the page does not show. */
const LEVELS = ["error", "warning", "info"];

function rank({ level }: Message): number {
  const place = LEVELS.indexOf(level ?? "info");
  return place < 0 ? LEVELS.length : place;
}

export function Messages({ page }: { page: Page }): JSX.Element {
  const { notes, messages, runs } = page.report;
  const said = useMemo(
    () =>
      [
        ...notes.map((text): Message => ({
          run: 0,
          level: "warning",
          code: "reader",
          text,
          count: 1,
        })),
        ...messages,
      ].sort((a, b) => rank(a) - rank(b)),
    [notes, messages],
  );
  if (!said.length) {
    return (
      <Note>
        kvtrace had nothing to say: no launch was missed that it knows of, no row was lost.
      </Note>
    );
  }
  const columns: (Column<Message> | false)[] = [
    {
      label: "Level",
      cell: ({ level }) => <Pill kind={KINDS[level ?? ""] ?? "plain"}>{level ?? "info"}</Pill>,
      key: (message) => message.level,
    },
    {
      label: "Code",
      cell: (message) => <code>{message.code ?? ""}</code>,
      key: (message) => message.code,
    },
    {
      label: "Message",
      prose: true,
      cell: (message) => shortText(message.text ?? "", 1000),
      text: (message) => message.text ?? "",
    },
    {
      label: "times",
      number: true,
      cell: (message) => formatCount(message.count),
      key: (message) => message.count,
    },
    runs.length > 1 && { label: "Run", cell: (message) => runs[message.run]?.label ?? "" },
  ];
  return <Table caption="Messages" columns={columns} rows={said} height={12} />;
}
