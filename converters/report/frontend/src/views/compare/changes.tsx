// Tables of what differs: facts as texts, and findings that only one side has.

import { href } from "../../app/router";
import { formatTuple, shortText } from "../../data/format";
import type { Page } from "../../data/page";
import type { Change } from "../../data/types";
import { code, words } from "../../parts/columns";
import { findingColumns } from "../../parts/finding_columns";
import { type Column, Table } from "../../parts/table";
import { Pill } from "../../parts/text";
import type { FindingDifference, Status } from "./blocks";

/** What differs, and how it was before and after. */
export const CHANGE_COLUMNS: readonly Column<Change>[] = [
  words("What", (row) => row.what, { prose: true, limit: 120 }),
  code("Before", (row) => row.before ?? "none", { prose: true, limit: 400 }),
  code("After", (row) => row.after ?? "none", { prose: true, limit: 400 }),
];

/** Renders nothing for an empty list. */
export function ChangeTable(props: { id: string; caption: string; changes: readonly Change[] }) {
  const { id, caption, changes } = props;
  if (!changes.length) return null;
  return <Table id={id} caption={caption} columns={CHANGE_COLUMNS} rows={changes} height={12} />;
}

export function StatusPill({ status }: { status: Status | "new" | "gone" }) {
  const kinds = {
    added: "fine",
    removed: "warning",
    changed: "note",
    new: "error",
    gone: "fine",
  } as const;
  return <Pill kind={kinds[status]}>{status}</Pill>;
}

export function FindingChanges(props: {
  page: Page;
  findings: readonly FindingDifference[];
  unjudged: string;
}) {
  const { page, findings } = props;
  const here = new Set(page.report.findings.map(({ found }) => found.finding_id));
  const { rule, verdict, place, what } = findingColumns<FindingDifference>(
    ({ finding }) => finding,
  );
  const columns: Column<FindingDifference>[] = [
    {
      ...words("Status", (row) => row.status),
      cell: (row) => <StatusPill status={row.status} />,
    },
    {
      ...rule,
      cell: ({ finding }) =>
        here.has(finding.finding_id) ? (
          <a href={href(`findings/${encodeURIComponent(finding.finding_id)}`)}>
            {shortText(finding.rule, 60)}
          </a>
        ) : (
          shortText(finding.rule, 60)
        ),
    },
    verdict,
    words("Kernel", ({ finding }) => finding.kernel, { limit: 80 }),
    place,
    words("What", what.text ?? String, { prose: true, limit: 300 }),
    words("Program", ({ finding }) => formatTuple(finding.program)),
  ];
  if (!findings.length) {
    return <p class="muted">{props.unjudged || "Both sides have the same findings."}</p>;
  }
  return (
    <Table
      id="compare-findings"
      caption="Findings that only one side has"
      columns={columns}
      rows={findings}
      height={14}
    />
  );
}
