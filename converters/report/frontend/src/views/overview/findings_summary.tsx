// How many accesses got which verdict.

import type { JSX } from "preact";

import { href } from "../../app/router";
import { UNKNOWN, formatCount } from "../../data/format";
import type { Page } from "../../data/page";
import type { FindingCount } from "../../data/types";
import { type Column, Table } from "../../parts/table";
import { Missing, Pill, type PillKind } from "../../parts/text";

const RANKS: Readonly<Record<string, number>> = { error: 0, warning: 1, note: 2 };

const COLUMNS: readonly Column<FindingCount>[] = [
  { label: "Rule", cell: (each) => each.rule ?? UNKNOWN, key: (each) => each.rule },
  {
    label: "Verdict",
    cell: (each) => <Pill kind={kindOf(each)}>{each.verdict ?? UNKNOWN}</Pill>,
    key: (each) => each.verdict,
  },
  {
    label: "Severity",
    cell: (each) => each.severity ?? UNKNOWN,
    key: (each) => RANKS[each.severity ?? ""] ?? 9,
    text: (each) => each.severity ?? "",
  },
  {
    label: "accesses",
    number: true,
    source: "derived",
    title: "Over distinct calls",
    cell: (each) => formatCount(each.count),
    key: (each) => each.count,
  },
];

function kindOf(count: FindingCount): PillKind {
  if (count.verdict === "proven") return "fine";
  if (count.verdict !== "violation") return "plain";
  return count.severity === "error" ? "error" : count.severity === "warning" ? "warning" : "note";
}

export function FindingsSummary({ page }: { page: Page }): JSX.Element {
  const counts = page.report.finding_counts;
  if (!counts) {
    return (
      <Missing
        what="No access of this trace has been judged yet. To find defects:"
        command={`kvtrace sanitize ${page.report.trace}`}
      />
    );
  }
  return (
    <>
      <Table caption="Verdicts" columns={COLUMNS} rows={counts} sort="Severity" empty="No verdicts." />
      <p>
        <a href={href("findings")}>All findings</a>
      </p>
    </>
  );
}
