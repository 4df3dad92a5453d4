// Kernels with their figures; the overview shows the first of them, this view all.

import { formatCount, formatPlace, plural, UNKNOWN } from "../../data/format";
import { page } from "../../data/page";
import type { Kernel } from "../../data/types";
import { fieldsOf, figure, sharedFigure, words } from "../../parts/columns";
import { type Column, Table } from "../../parts/table";
import { KernelLink, Pill, ShortPlace } from "../../parts/text";
import { HOST_TIME } from "../../parts/work_figures";

/** In which order columns are left out on a narrow screen; a kernel's view has these figures. */
const LEAVING = [
  "calls",
  "variants",
  "shared",
  "spills",
  "compile",
  "registers",
  "Defined",
  "host time",
  "FLOPs",
  "bytes",
  "findings",
];

interface KernelTableProps {
  /** Places in the report's kernels. */
  readonly kernels: readonly number[];
  readonly caption: string;
  /** Leaves out what the compiler made. */
  readonly brief?: boolean;
  /** Rows that are shown at once. */
  readonly height?: number;
}

export function KernelTable(props: KernelTableProps) {
  const { brief } = props;
  const { totals, kernels } = page.report;
  const of = (index: number): Kernel => kernels[index] as Kernel;
  const field = fieldsOf(of);
  const runs = "over all runs of the calls that were evaluated";
  const most = "most of any variant";
  const hostNs = (index: number) => of(index).host_ns || null;
  const [onDevice, onHost] = [totals.device_ns !== null, totals.host_ns > 0];
  const known: readonly (readonly [string, boolean])[] = [
    ["GPU time", onDevice],
    ["host time", onHost],
    ["bytes", totals.bytes !== null],
  ];
  const columns: (Column<number> | false)[] = [
    {
      label: "Kernel",
      cell: (index) => <KernelLink kernel={index} />,
      key: (index) => of(index).name,
    },
    field("launches", "measured", "launches"),
    onDevice &&
      sharedFigure(
        "GPU time",
        "measured",
        (index: number) => of(index).device_ns,
        page.report.device_time?.device_ns ?? 0,
        "ns",
        "Sum over executions",
      ),
    onHost &&
      (onDevice
        ? figure("host time", "measured", hostNs, "ns", HOST_TIME)
        : sharedFigure("host time", "measured", hostNs, totals.host_ns, "ns", HOST_TIME)),
    ...page.report.further.map(({ name, unit, label }) =>
      figure<number>(label, "measured", (index) => of(index).further[name], unit),
    ),
    !brief &&
      kernels.some((kernel) => kernel.achieved !== null) &&
      field("of roofline", "derived", "achieved", "share", "Roofline time divided by the GPU time"),
    totals.bytes !== null &&
      field("bytes", "derived", "bytes", "bytes", `Bytes of active lanes, ${runs}`),
    totals.flops !== null && field("FLOPs", "derived", "flops", "flops", `FLOPs, ${runs}`),
    {
      ...field("findings", "derived", "violations"),
      key: (index) => 1e6 * (of(index).errors ?? 0) + (of(index).violations ?? 0),
      cell: (index) => <KernelFindings kernel={of(index)} />,
    },
    field("compile", "measured", "compile_ns", "ns", "Sum over variants"),
    figure("variants", null, (index) => of(index).compilations),
    ...(brief
      ? []
      : [
          field(
            "calls",
            "measured",
            "calls",
            "count",
            "Distinct combinations of grid and arguments",
          ),
          field("registers", "compiler", "registers", "count", `Registers of a thread, ${most}`),
          field("spills", "compiler", "spills", "count", `32-bit words of a thread, ${most}`),
          field(
            "shared",
            "compiler",
            "shared_bytes",
            "bytes",
            `Shared memory of a program, ${most}`,
          ),
          {
            ...words("Defined", (index: number) => formatPlace(of(index).file, of(index).line)),
            cell: (index: number) => (
              <ShortPlace of={formatPlace(of(index).file, of(index).line)} />
            ),
            key: (index: number) => of(index).file ?? UNKNOWN,
          },
        ]),
  ];
  return (
    <Table
      caption={props.caption}
      columns={columns}
      rows={props.kernels}
      leaving={LEAVING.filter((label) => onDevice || label !== "host time")}
      sort={known.find(([, is]) => is)?.[0] ?? "launches"}
      empty="No kernel matches."
      {...(props.height && { height: props.height })}
    />
  );
}

export function KernelFindings(props: { kernel: Kernel }) {
  const { errors, violations, unknowns, judged, unjudged_calls: unjudged, calls } = props.kernel;
  const notJudged = !judged || (calls > 0 && unjudged >= calls);
  if (violations === null || (notJudged && !violations)) {
    const title =
      violations === null ? "Run kvtrace sanitize" : "kvtrace sanitize has judged no access of it";
    return (
      <span class="muted" title={title}>
        not judged
      </span>
    );
  }
  if (errors) return <Pill kind="error">{plural(errors, "error")}</Pill>;
  if (violations) return <Pill kind="warning">{plural(violations, "warning")}</Pill>;
  if (unknowns) return <Pill kind="warning">{formatCount(unknowns)} unknown</Pill>;
  if (unjudged) {
    return <span class="muted">{`none in ${calls - unjudged} of ${plural(calls, "call")}`}</span>;
  }
  return <Pill kind="fine">none</Pill>;
}
