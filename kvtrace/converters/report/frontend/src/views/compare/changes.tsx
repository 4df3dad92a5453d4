// Tables of what differs: facts as texts, and findings that only one side has.

import { href } from "../../app/router";
import { formatPlace, formatTuple, shortText } from "../../data/format";
import type { Page } from "../../data/page";
import type { Change } from "../../data/types";
import { words } from "../../parts/columns";
import { type Column, Table } from "../../parts/table";
import { Pill } from "../../parts/text";
import type { FindingDifference, Status } from "./blocks";

const CHANGE_COLUMNS: readonly Column<Change>[] = [
  { label: "What", prose: true, cell: (row) => shortText(row.what, 120), key: (row) => row.what },
  {
    label: "Before",
    prose: true,
    cell: (row) => textOf(row.before),
    text: (row) => row.before ?? "",
  },
  { label: "After", prose: true, cell: (row) => textOf(row.after), text: (row) => row.after ?? "" },
];

function textOf(text: string | null) {
  if (text === null) return <span class="muted">none</span>;
  return <code class="wrap">{shortText(text, 400)}</code>;
}

/** Nothing where there is nothing. */
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

export function FindingChanges(props: { page: Page; findings: readonly FindingDifference[] }) {
  const { page, findings } = props;
  const here = new Set(page.report.findings.map(({ found }) => found.finding_id));
  const columns: Column<FindingDifference>[] = [
    {
      label: "Status",
      cell: (row) => <StatusPill status={row.status} />,
      key: (row) => row.status,
    },
    {
      label: "Rule",
      cell: ({ finding }) =>
        here.has(finding.finding_id) ? (
          <a href={href(`findings/${encodeURIComponent(finding.finding_id)}`)}>
            {shortText(finding.rule, 60)}
          </a>
        ) : (
          shortText(finding.rule, 60)
        ),
      key: ({ finding }) => finding.rule,
    },
    words("Verdict", ({ finding }) => finding.verdict),
    words("Kernel", ({ finding }) => finding.kernel, { limit: 80 }),
    words("Place", ({ finding }) => formatPlace(finding.file, finding.line), { limit: 60 }),
    words("What", ({ finding }) => finding.message ?? finding.reason, { prose: true, limit: 300 }),
    { label: "Program", cell: ({ finding }) => formatTuple(finding.program) },
  ];
  return (
    <Table
      id="compare-findings"
      caption="Findings that only one side has"
      columns={columns}
      rows={findings}
      height={14}
      empty="Both sides have the same findings."
    />
  );
}
