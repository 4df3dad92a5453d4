// Kernels with their figures; the overview shows the first of them, this view all.

import { formatCount, formatPlace, plural, UNKNOWN } from "../../data/format";
import type { Page } from "../../data/page";
import type { Kernel } from "../../data/types";
import { figure, sharedFigure } from "../../parts/columns";
import { type Column, Table } from "../../parts/table";
import { KernelLink, Pill } from "../../parts/text";

interface KernelTableProps {
  readonly page: Page;
  /** Places in the report's kernels. */
  readonly kernels: readonly number[];
  readonly caption: string;
  /** Leaves out what the compiler made. */
  readonly brief?: boolean;
  readonly sort?: string;
}

export function KernelTable(props: KernelTableProps) {
  const { page, brief } = props;
  const { totals, kernels } = page.report;
  const of = (index: number): Kernel => kernels[index] as Kernel;
  const columns: (Column<number> | null | false | undefined)[] = [
    {
      label: "Kernel",
      cell: (index) => <KernelLink page={page} kernel={index} />,
      key: (index) => of(index).name,
    },
    figure("launches", "measured", (index) => of(index).launches),
    sharedFigure(
      "host time",
      "measured",
      (index) => of(index).host_ns,
      totals.host_ns,
      "ns",
      "Sum over launches of the time from entering the launching function to its return",
    ),
    totals.device_ns !== null &&
      figure(
        "device time",
        "measured",
        (index) => of(index).device_ns,
        "ns",
        "Sum over executions",
      ),
    !brief &&
      kernels.some((kernel) => (kernel.achieved ?? null) !== null) &&
      figure(
        "of roofline",
        "derived",
        (index) => of(index).achieved,
        "share",
        "Share of the time at best in the measured device time",
      ),
    totals.bytes !== null &&
      figure(
        "bytes",
        "derived",
        (index) => of(index).bytes,
        "bytes",
        "Of active lanes, over all runs of the calls that were evaluated",
      ),
    totals.flops !== null &&
      figure(
        "FLOPs",
        "derived",
        (index) => of(index).flops,
        "flops",
        "Over all runs of the calls that were evaluated",
      ),
    {
      label: "findings",
      source: "derived",
      number: true,
      cell: (index) => <KernelFindings kernel={of(index)} />,
      key: (index) => of(index).violations,
    },
    figure("compile", "measured", (index) => of(index).compile_ns, "ns", "Sum over variants"),
    figure("variants", null, (index) => of(index).variants.length),
    !brief &&
      figure(
        "calls",
        "measured",
        (index) => of(index).calls,
        "count",
        "Distinct: grid and arguments' metadata",
      ),
    !brief &&
      figure(
        "registers",
        "compiler",
        (index) => of(index).registers,
        "count",
        "Of a thread, most of any variant",
      ),
    !brief &&
      figure(
        "spills",
        "compiler",
        (index) => of(index).spills,
        "count",
        "32-bit words of local memory of a thread, most of any variant",
      ),
    !brief &&
      figure(
        "shared",
        "compiler",
        (index) => of(index).shared_bytes,
        "bytes",
        "Shared memory of a program, most of any variant",
      ),
    !brief && {
      label: "Defined",
      cell: (index) => (
        <span title={of(index).file ?? ""}>{formatPlace(of(index).file, of(index).line)}</span>
      ),
      key: (index) => of(index).file ?? UNKNOWN,
    },
  ];
  return (
    <Table
      caption={props.caption}
      columns={columns.filter((column): column is Column<number> => Boolean(column))}
      rows={props.kernels}
      sort={props.sort ?? "host time"}
      empty="No kernel matches."
    />
  );
}

function KernelFindings(props: { kernel: Kernel }) {
  const { violations, unknowns, judged } = props.kernel;
  if (violations === null || (!judged && !violations)) {
    const title =
      violations === null ? "Run kvtrace sanitize" : "kvtrace sanitize has judged no access of it";
    return (
      <span class="muted" title={title}>
        not judged
      </span>
    );
  }
  if (violations) return <Pill kind="error">{plural(violations, "violation")}</Pill>;
  if (unknowns) return <Pill kind="warning">{formatCount(unknowns)} unknown</Pill>;
  return <Pill kind="fine">none</Pill>;
}
