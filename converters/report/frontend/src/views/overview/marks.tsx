// The user's own marks.

import type { JSX } from "preact";

import { UNKNOWN, formatMoment, formatNanoseconds, shortText } from "../../data/format";
import type { Page } from "../../data/page";
import type { Mark } from "../../data/types";
import { type Column, Table } from "../../parts/table";

export function MarksTable({ page }: { page: Page }): JSX.Element {
  const { runs, marks } = page.report;
  const columns: Column<Mark>[] = [
    { label: "Mark", prose: true, cell: (mark) => shortText(mark.name), key: (mark) => mark.name },
    {
      label: "begin",
      number: true,
      cell: (mark) => formatMoment(mark.begin),
      key: (mark) => mark.begin,
    },
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
