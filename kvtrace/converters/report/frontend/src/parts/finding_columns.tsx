// Columns of findings, as several views list them.

import { href } from "../app/router";
import { formatPlace, shortText } from "../data/format";
import type { Finding } from "../data/types";
import { words } from "./columns";
import type { Column } from "./table";
import { Pill, severityKind } from "./text";

interface FindingColumns<Row> {
  readonly rule: Column<Row>;
  readonly verdict: Column<Row>;
  readonly place: Column<Row>;
  /** Leads to the finding's own page. */
  readonly what: Column<Row>;
}

export function findingColumns<Row>(of: (row: Row) => Finding): FindingColumns<Row> {
  const kind = (row: Row) =>
    of(row).verdict === "violation" ? severityKind(of(row).severity) : "plain";
  const pill = (label: string, read: (row: Row) => string): Column<Row> => ({
    ...words(label, read),
    cell: (row) => <Pill kind={kind(row)}>{shortText(read(row), 60)}</Pill>,
  });
  const said = (row: Row): string => of(row).message ?? of(row).reason ?? of(row).rule;
  return {
    rule: pill("Rule", (row) => of(row).rule),
    verdict: pill("Verdict", (row) => of(row).verdict),
    place: words("Line", (row) => formatPlace(of(row).file, of(row).line), {
      limit: 60,
      key: (row) => `${of(row).file ?? ""}:${String(of(row).line ?? 0).padStart(7, "0")}`,
    }),
    what: {
      ...words("What", said, { prose: true }),
      cell: (row) => (
        <a href={href(`findings/${encodeURIComponent(of(row).finding_id)}`)}>
          {shortText(said(row), 400)}
        </a>
      ),
    },
  };
}
