// What kvtrace itself had to say: launches that it could not see, rows that it lost.

import { formatNanoseconds, shortText, UNKNOWN } from "../../data/format";
import type { Page } from "../../data/page";
import type { Mark } from "../../data/types";
import { figure } from "../../parts/columns";
import { type Column, Table } from "../../parts/table";
import { useMemo } from "preact/hooks";
import type { Message } from "../../data/types";
import { code, words } from "../../parts/columns";
import { Note, Pill, severityKind } from "../../parts/text";

/** Warnings first: they say what the page does not show. */
const LEVELS = ["error", "warning", "info"];

function rank({ level }: Message): number {
  const place = LEVELS.indexOf(level ?? "info");
  return place < 0 ? LEVELS.length : place;
}

export function Messages({ page }: { page: Page }) {
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
      cell: ({ level }) => <Pill kind={severityKind(level)}>{level ?? "info"}</Pill>,
      key: (message) => message.level,
    },
    code("Code", (message) => message.code ?? ""),
    words("Message", (message) => message.text ?? "", { prose: true, limit: 1000 }),
    figure("times", null, (message) => message.count),
    runs.length > 1 && { label: "Run", cell: (message) => runs[message.run]?.label ?? "" },
  ];
  return <Table caption="Messages" columns={columns} rows={said} height={12} />;
}

export function MarksTable({ page }: { page: Page }) {
  const { runs, marks } = page.report;
  const columns: Column<Mark>[] = [
    { label: "Mark", prose: true, cell: (mark) => shortText(mark.name), key: (mark) => mark.name },
    figure("begin", null, (mark) => mark.begin, "moment"),
    {
      label: "duration",
      number: true,
      source: "measured",
      cell: (mark) => (mark.duration === null ? "instant" : formatNanoseconds(mark.duration)),
      key: (mark) => mark.duration,
    },
    {
      label: "Thread",
      cell: (mark) =>
        `${runs.length > 1 ? `${runs[mark.run]?.label ?? ""} ` : ""}${mark.thread ?? UNKNOWN}`,
      key: (mark) => mark.thread,
    },
    { label: "Attributes", prose: true, cell: attributes, text: attributes },
  ];
  return <Table caption="Marks" columns={columns} rows={marks} height={12} />;
}

function attributes(mark: Mark): string {
  return Object.entries(mark.attributes)
    .map(([name, value]) => `${name}=${shortText(value, 80)}`)
    .join(", ");
}
