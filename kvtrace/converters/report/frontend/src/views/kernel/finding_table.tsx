// The findings of a kernel and the lines that they stand on.

import { href } from "../../app/router";
import { formatCount, formatPlace, shortText } from "../../data/format";
import type { Page } from "../../data/page";
import type { PlacedFinding } from "../../data/types";
import { figure } from "../../parts/columns";
import { type Column, Table } from "../../parts/table";
import { NotJudged, Pill, severityKind } from "../../parts/text";
import type { MarkedFinding } from "./marks";

/** The call that shows it, at its op and program. */
function Witness({ page, finding }: { page: Page; finding: PlacedFinding }) {
  const call = page.report.calls[finding.call ?? -1];
  if (!call || finding.call === null) return <span class="muted">–</span>;
  const { program } = finding.found;
  const query = { op: finding.op, p: program ? program.join(",") : null };
  return <a href={href(`call/${finding.call}`, query)}>call {formatCount(call.call_id)}</a>;
}

interface FindingTableProps {
  readonly page: Page;
  readonly kernel: number;
  readonly findings: readonly MarkedFinding[];
  /** Brings a line of the source into view. */
  onChoose(path: string, line: number): void;
}

export function FindingTable(props: FindingTableProps) {
  const { page, findings } = props;
  const kernel = page.report.kernels[props.kernel];
  if (!kernel?.judged && !findings.length)
    return <NotJudged report={page.report} what="this kernel" />;
  if (!findings.length) {
    return (
      <p>
        <Pill kind="fine">none</Pill> All {formatCount(kernel?.judged)} judged accesses of its calls
        are fine.
      </p>
    );
  }
  const columns: Column<MarkedFinding>[] = [
    {
      label: "Line",
      cell: ({ places }) => {
        const place = places[0];
        if (!place) return "–";
        return (
          <button
            type="button"
            class="quiet kernel-line"
            onClick={() => props.onChoose(place.path, place.line)}
          >
            {shortText(formatPlace(place.path, place.line), 60)}
          </button>
        );
      },
      key: ({ places }) => places[0]?.line,
    },
    {
      label: "Rule",
      cell: ({ finding }) => (
        <a
          href={href("findings", {
            q: `${finding.found.rule} ${finding.found.kernel.slice(0, 80)}`,
          })}
        >
          {finding.found.rule}
        </a>
      ),
      key: ({ finding }) => finding.found.rule,
    },
    {
      label: "Verdict",
      cell: ({ finding: { found } }) => (
        <Pill kind={found.verdict === "violation" ? severityKind(found.severity) : "plain"}>
          {found.verdict}
        </Pill>
      ),
      key: ({ finding }) => finding.found.verdict,
    },
    {
      label: "What",
      prose: true,
      cell: ({ finding: { found } }) => (
        <a href={href(`findings/${encodeURIComponent(found.finding_id)}`)}>
          {shortText(found.message ?? found.reason ?? found.rule, 400)}
        </a>
      ),
      text: ({ finding: { found } }) => found.message ?? found.reason ?? "",
    },
    {
      label: "Witness",
      cell: ({ finding }) => <Witness page={page} finding={finding} />,
      key: ({ finding }) => finding.call,
    },
    figure("launches", null, ({ finding }) => finding.found.launches),
  ];
  return (
    <>
      {kernel?.judged ? null : <NotJudged report={page.report} what="this kernel" />}
      <Table
        id="kernel-findings"
        caption="Findings of the kernel"
        columns={columns}
        rows={findings}
        height={8}
      />
    </>
  );
}
