// Launches as a table of rows of the page's columns.

import { useMemo } from "preact/hooks";
import { launchDeviceTimes } from "../../data/executions";
import { page } from "../../data/page";
import { startUps } from "../../data/start_up";
import { figure, words } from "../../parts/columns";
import { startUpColumn } from "../../parts/start_up";
import { type Column, Table } from "../../parts/table";
import { CallLink, KernelLink, trackName } from "../../parts/text";

interface LaunchTableProps {
  readonly rows: ArrayLike<number>;
  readonly chosen: number | null;
  onChoose(row: number): void;
}

export function LaunchTable(props: LaunchTableProps) {
  const { report, launches } = page;
  const rank = useMemo(() => nameRanks(), []);
  const columns: (Column<number> | false)[] = [
    figure("Launch", null, (row) => launches.seq[row]),
    {
      label: "Kernel",
      cell: (row) => <KernelLink kernel={launches.kernel[row] ?? -1} />,
      key: (row) => rank[launches.kernel[row] ?? -1] ?? null,
      text: (row) => report.kernels[launches.kernel[row] ?? -1]?.name ?? "",
    },
    {
      label: "call",
      number: true,
      cell: (row) => <CallLink call={launches.call[row] ?? -1} />,
      key: (row) => launches.call[row],
      text: (row) => String(report.calls[launches.call[row] ?? -1]?.call_id ?? ""),
    },
    figure("begin", "measured", (row) => launches.begin[row], "moment"),
    figure("host time", "measured", (row) => launches.duration[row], "ns"),
    report.totals.device_ns !== null &&
      figure("GPU time", "measured", deviceTime, "ns", "Sum over its executions"),
    startUps().size > 0 && startUpColumn((row) => startUps().get(row)),
    words("Phase", (row) => report.phases[launches.phase[row] ?? -1], {
      key: (row) => launches.phase[row],
    }),
    words("Thread", (row) => trackName(launches.track[row] ?? -1), {
      key: (row) => launches.track[row],
    }),
  ];
  return (
    <Table
      id="launch-table"
      caption="Launches"
      columns={columns}
      rows={props.rows}
      chosen={props.chosen}
      onChoose={props.onChoose}
      leaving={["Thread", "Phase", "call", "begin", "start-up"]}
      empty="No launch matches."
      height={22}
    />
  );
}

function deviceTime(row: number): number | null {
  const time = launchDeviceTimes()[row] ?? NaN;
  return Number.isNaN(time) ? null : time;
}

/** Each kernel's place in the order of names: sorting by name compares numbers. */
function nameRanks(): number[] {
  const names = page.report.kernels.map((kernel) => kernel.name);
  const order = names.map((_, index) => index);
  order.sort((a, b) => ((names[a] ?? "") < (names[b] ?? "") ? -1 : 1));
  const ranks: number[] = [];
  order.forEach((kernel, rank) => {
    ranks[kernel] = rank;
  });
  return ranks;
}
