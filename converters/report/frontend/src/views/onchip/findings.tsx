// What the call breaks of the machine's rules.

import type { JSX } from "preact";

import { href, setQuery } from "../../app/router";
import { formatPlace, shortText } from "../../data/format";
import type { Page } from "../../data/page";
import type { PlacedFinding } from "../../data/types";
import { Table } from "../../parts/table";
import { Pill } from "../../parts/text";

/** Findings of a call that are not proofs, and not suppressed. */
export function findingsOf(page: Page, call: number): readonly PlacedFinding[] {
  return page.report.findings.filter(
    ({ found, call: own, in_calls: calls }) => !found.suppressed && found.verdict !== "proven" && (own === call || calls.includes(call)),
  );
}

/** Rules that are broken, by op. */
export function brokenOps(findings: readonly PlacedFinding[]): ReadonlyMap<number, string> {
  const broken = new Map<number, string>();
  for (const { op, found } of findings) {
    if (op !== null) broken.set(op, [broken.get(op), found.rule].filter(Boolean).join(", "));
  }
  return broken;
}

export function FindingTable({ findings }: { findings: readonly PlacedFinding[] }): JSX.Element {
  if (!findings.length) {
    return (
      <p id="onchip-fine">
        <Pill kind="fine">none</Pill> No rule of the machine is broken in this call.
      </p>
    );
  }
  return (
    <Table
      id="onchip-findings"
      caption="Rules that this call breaks"
      rows={findings}
      columns={[
        {
          label: "Line",
          cell: ({ found }) => (
            <button type="button" class="quiet small" onClick={() => setQuery({ line: found.line, file: found.file })}>
              {shortText(formatPlace(found.file, found.line), 60)}
            </button>
          ),
          key: ({ found }) => found.line,
        },
        { label: "Rule", cell: ({ found }) => <Pill kind={found.severity === "error" ? "error" : "warning"}>{found.rule}</Pill>, key: ({ found }) => found.rule },
        {
          label: "What",
          prose: true,
          cell: ({ found }) => (
            <a href={href(`findings/${encodeURIComponent(found.finding_id)}`)}>{shortText(found.message ?? found.rule, 400)}</a>
          ),
          text: ({ found }) => found.message ?? "",
        },
      ]}
    />
  );
}
