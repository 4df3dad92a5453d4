// The kernels with most of something: device time, host time, bytes, launches, compile time.

import { useMemo } from "preact/hooks";
import { href, setQuery } from "../../app/router";
import { formatCount } from "../../data/format";
import type { Page } from "../../data/page";
import type { Kernel, Report } from "../../data/types";
import { Tabs } from "../../parts/tabs";
import { KernelTable } from "../kernels/table";

interface Ranking {
  readonly name: string;
  /** The label of the column that it sorts by. */
  readonly column: string;
  of(kernel: Kernel): number | null;
}

const TOP = 10;
const RANKINGS: readonly Ranking[] = [
  { name: "device", column: "device time", of: (kernel) => kernel.device_ns },
  { name: "host", column: "host time", of: (kernel) => kernel.host_ns },
  { name: "bytes", column: "bytes", of: (kernel) => kernel.bytes },
  { name: "launches", column: "launches", of: (kernel) => kernel.launches },
  { name: "compile", column: "compile", of: (kernel) => kernel.compile_ns },
];

export function TopKernels(props: { page: Page; query: URLSearchParams }) {
  const { report } = props.page;
  const { kernels } = report;
  const rankings = useMemo(
    () => RANKINGS.filter((ranking) => hasFigures(report, ranking)),
    [report],
  );
  const ranking = rankings.find((each) => each.name === props.query.get("top")) ?? rankings[0];
  const ranked = useMemo(() => {
    const order = kernels.map((_, index) => index);
    const figure = (index: number): number => {
      const kernel = kernels[index];
      return (kernel && ranking?.of(kernel)) ?? -1;
    };
    return order.sort((a, b) => figure(b) - figure(a)).slice(0, TOP);
  }, [kernels, ranking]);
  if (!ranking) return <KernelTable page={props.page} kernels={ranked} caption="Kernels" brief />;
  return (
    <Tabs
      label="Ranked by"
      chosen={ranking.name}
      onChoose={(top) => setQuery({ top: top === rankings[0]?.name ? null : top })}
      tabs={rankings.map((each) => ({ name: each.name, title: `By ${each.column}` }))}
      aside={
        kernels.length > TOP ? (
          <a href={href("kernels")}>All {formatCount(kernels.length)} kernels</a>
        ) : null
      }
    >
      <KernelTable
        key={ranking.name}
        page={props.page}
        kernels={ranked}
        caption={`Kernels by ${ranking.column}`}
        sort={ranking.column}
        brief
      />
    </Tabs>
  );
}

function hasFigures(report: Report, ranking: Ranking): boolean {
  return report.kernels.some((kernel) => (ranking.of(kernel) ?? null) !== null);
}
