// Kernels with their figures; the overview shows the first of them, this view all.

import type { JSX } from "preact";

import {
  UNKNOWN,
  formatBytes,
  formatCount,
  formatFlops,
  formatNanoseconds,
  formatPlace,
  formatShare,
  plural,
} from "../../data/format";
import type { Page } from "../../data/page";
import type { Kernel } from "../../data/types";
import { type Column, Table } from "../../parts/table";
import { KernelLink, Pill, ShareBar, type Source } from "../../parts/text";

interface KernelTableProps {
  readonly page: Page;
  /** Places in the report's kernels. */
  readonly kernels: readonly number[];
  readonly caption: string;
  /** Leaves out what the compiler made. */
  readonly brief?: boolean;
  readonly sort?: string;
}

type NumberField =
  | "device_ns"
  | "bytes"
  | "flops"
  | "compile_ns"
  | "registers"
  | "spills"
  | "shared_bytes"
  | "launches"
  | "calls";

export function KernelTable(props: KernelTableProps): JSX.Element {
  const { page, brief } = props;
  const { totals, kernels } = page.report;
  const of = (index: number): Kernel => kernels[index] as Kernel;
  const figure = (
    label: string,
    source: Source,
    field: NumberField,
    format: (value: number | null) => string,
    title = "",
  ): Column<number> => ({
    label,
    source,
    title,
    number: true,
    cell: (index) => format(of(index)[field]),
    key: (index) => of(index)[field],
  });
  const columns: (Column<number> | null | false | undefined)[] = [
    {
      label: "Kernel",
      cell: (index) => <KernelLink page={page} kernel={index} />,
      key: (index) => of(index).name,
    },
    figure("launches", "measured", "launches", formatCount),
    {
      label: "host time",
      source: "measured",
      number: true,
      title: "Sum over launches of the time from entering the launching function to its return",
      cell: (index) => (
        <span class="with-share">
          <ShareBar share={of(index).host_ns / totals.host_ns} />
          {formatNanoseconds(of(index).host_ns)}
        </span>
      ),
      key: (index) => of(index).host_ns,
    },
    totals.device_ns !== null &&
      figure("device time", "measured", "device_ns", formatNanoseconds, "Sum over executions"),
    !brief &&
      kernels.some((kernel) => (kernel.achieved ?? null) !== null) && {
        label: "of roofline",
        source: "derived",
        number: true,
        title: "Share of the time at best in the measured device time",
        cell: (index) => formatShare(of(index).achieved, 1),
        key: (index) => of(index).achieved,
      },
    totals.bytes !== null &&
      figure(
        "bytes",
        "derived",
        "bytes",
        formatBytes,
        "Of active lanes, over all runs of the calls that were evaluated",
      ),
    totals.flops !== null &&
      figure(
        "FLOPs",
        "derived",
        "flops",
        formatFlops,
        "Over all runs of the calls that were evaluated",
      ),
    {
      label: "findings",
      source: "derived",
      number: true,
      cell: (index) => <KernelFindings kernel={of(index)} />,
      key: (index) => of(index).violations,
    },
    figure("compile", "measured", "compile_ns", formatNanoseconds, "Sum over variants"),
    {
      label: "variants",
      number: true,
      cell: (index) => formatCount(of(index).variants.length),
      key: (index) => of(index).variants.length,
    },
    !brief &&
      figure("calls", "measured", "calls", formatCount, "Distinct: grid and arguments' metadata"),
    !brief &&
      figure("registers", "compiler", "registers", formatCount, "Of a thread, most of any variant"),
    !brief &&
      figure(
        "spills",
        "compiler",
        "spills",
        formatCount,
        "32-bit words of local memory of a thread, most of any variant",
      ),
    !brief &&
      figure(
        "shared",
        "compiler",
        "shared_bytes",
        formatBytes,
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

function KernelFindings(props: { kernel: Kernel }): JSX.Element {
  const { violations, unknowns, judged } = props.kernel;
  if (violations === null || !judged) {
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
