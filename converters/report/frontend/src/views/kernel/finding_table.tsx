// The findings of a kernel and their lines.

import { href } from "../../app/router";
import { formatCount, formatPlace, plural } from "../../data/format";
import { page } from "../../data/page";
import type { PlacedFinding } from "../../data/types";
import { figure } from "../../parts/columns";
import { findingColumns } from "../../parts/finding_columns";
import { type Column, Table } from "../../parts/table";
import { NotJudged, Pill, ShortPlace } from "../../parts/text";
import type { MarkedFinding } from "../../parts/finding_marks";

/** The call that shows it, at its op and program. */
function Witness({ finding }: { finding: PlacedFinding }) {
  const call = page.report.calls[finding.call ?? -1];
  if (!call || finding.call === null) return <span class="muted">–</span>;
  const { program } = finding.found;
  const query = { op: finding.op, p: program ? program.join(",") : null };
  return <a href={href(`call/${finding.call}`, query)}>call {formatCount(call.call_id)}</a>;
}

interface FindingTableProps {
  readonly kernel: number;
  readonly findings: readonly MarkedFinding[];
  /** Brings a line of the source into view. */
  onChoose(path: string, line: number): void;
}

export function FindingTable(props: FindingTableProps) {
  const { findings } = props;
  const kernel = page.report.kernels[props.kernel];
  if (!kernel?.judged && !findings.length)
    return <NotJudged report={page.report} what="this kernel" />;
  if (!findings.length) {
    return (
      <p>
        <Pill kind={kernel?.unjudged_calls ? "plain" : "fine"}>none</Pill> All{" "}
        {formatCount(kernel?.judged)} judged accesses of its calls are fine
        {kernel?.unjudged_calls
          ? `; ${plural(kernel.unjudged_calls, "call")} of ${formatCount(kernel.calls)} not judged`
          : ""}
        .
      </p>
    );
  }
  const { rule, verdict, what } = findingColumns<MarkedFinding>(({ finding }) => finding.found);
  const columns: Column<MarkedFinding>[] = [
    {
      label: "Line",
      cell: ({ places: [place] }) =>
        place ? (
          <button
            type="button"
            class="quiet small"
            onClick={() => props.onChoose(place.path, place.line)}
          >
            <ShortPlace of={formatPlace(place.path, place.line)} />
          </button>
        ) : (
          "–"
        ),
      key: ({ places }) => places[0]?.line,
    },
    rule,
    verdict,
    what,
    {
      label: "Witness",
      cell: ({ finding }) => <Witness finding={finding} />,
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
