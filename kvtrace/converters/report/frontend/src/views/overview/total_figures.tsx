// The figures over all runs, each with where it is from.

import { formatCount, plural, sumKnown } from "../../data/format";
import type { Page } from "../../data/page";
import { Figures } from "../../parts/figure";
import { workFigures } from "../../parts/work_figures";

export function TotalFigures({ page }: { page: Page }) {
  const { totals, runs } = page.report;
  const dropped = sumKnown(runs.map((run) => run.dropped_rows));
  const overhead = sumKnown(runs.map((run) => run.self_overhead_ns));
  const phases = Object.entries(totals.phases)
    .map(([name, count]) => `${formatCount(count)} ${name}`)
    .join(", ");
  const evaluated =
    totals.evaluated_calls === null
      ? "run kvtrace replay"
      : `${formatCount(totals.evaluated_calls)} of ${plural(totals.calls, "call")}`;
  return (
    <Figures
      id="figures"
      of={[
        { name: "launches", value: totals.launches, source: "measured", detail: phases || null },
        {
          name: "kernels",
          value: totals.kernels,
          source: "measured",
          detail: plural(totals.variants, "compiled variant"),
        },
        {
          name: "distinct calls",
          value: totals.calls,
          source: "measured",
          how: "Grid and arguments' metadata differ",
        },
        workFigures(totals, totals.device_ns !== null, {
          device: plural(totals.gpu_kernels ?? 0, "execution"),
          replayed: evaluated,
        }),
        {
          name: "capture's own time",
          value: overhead,
          as: "ns",
          source: "measured",
          how: "What kvtrace itself took in the process, its start included",
        },
        { name: "dropped rows", value: dropped, source: "measured" },
      ]}
    />
  );
}
