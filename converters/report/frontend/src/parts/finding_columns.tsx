// Columns of findings, as several views list them.

import { href } from "../app/router";
import { formatPlace, shortText } from "../data/format";
import type { Finding } from "../data/types";
import { words } from "./columns";
import type { Column } from "./table";
import { Pill, severityKind, ShortPlace } from "./text";

interface FindingColumns<Row> {
  /** Leads to all findings of the rule in the kernel. */
  readonly rule: Column<Row>;
  readonly verdict: Column<Row>;
  readonly place: Column<Row>;
  /** Leads to the finding's own page. */
  readonly what: Column<Row>;
}

export function findingColumns<Row>(of: (row: Row) => Finding): FindingColumns<Row> {
  const kind = (row: Row) =>
    of(row).verdict === "violation" ? severityKind(of(row).severity) : "plain";
  const pill = (row: Row, text: string) => <Pill kind={kind(row)}>{shortText(text, 60)}</Pill>;
  const alike = (row: Row): string =>
    href("findings", { q: `${of(row).rule} ${of(row).kernel.slice(0, 80)}` });
  const said = (row: Row): string => of(row).message ?? of(row).reason ?? of(row).rule;
  return {
    rule: {
      ...words("Rule", (row) => of(row).rule),
      cell: (row) => <a href={alike(row)}>{pill(row, of(row).rule)}</a>,
    },
    verdict: {
      ...words("Verdict", (row) => of(row).verdict),
      cell: (row) => pill(row, of(row).verdict),
    },
    place: {
      ...words("Line", (row) => formatPlace(of(row).file, of(row).line), {
        key: (row) => `${of(row).file ?? ""}:${String(of(row).line ?? 0).padStart(7, "0")}`,
      }),
      cell: (row) => <ShortPlace of={formatPlace(of(row).file, of(row).line)} />,
    },
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
