// The figures over all runs, each with where it is from.

import { formatCount, plural, sumKnown } from "../../data/format";
import type { Page } from "../../data/page";
import { Figures } from "../../parts/figure";

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
        {
          name: "host time",
          value: totals.host_ns,
          as: "ns",
          source: "measured",
          how: "Sum over launches, from entering the launching function to its return",
        },
        {
          name: "compile time",
          value: totals.compile_ns,
          as: "ns",
          source: "measured",
          how: "Sum over variants",
        },
        totals.device_ns === null
          ? null
          : {
              name: "device time",
              value: totals.device_ns,
              as: "ns",
              source: "measured",
              how: "Sum over executions on the device",
              detail: plural(totals.gpu_kernels ?? 0, "execution"),
            },
        {
          name: "bytes moved",
          value: totals.bytes,
          as: "bytes",
          how: "By kvtrace replay, of active lanes",
          detail: evaluated,
        },
        {
          name: "FLOPs",
          value: totals.flops,
          as: "flops",
          how: "By kvtrace replay",
          detail: evaluated,
        },
        {
          name: "violations",
          value: totals.violations,
          how: "Distinct ones, by kvtrace sanitize",
          detail: totals.violations === null ? "run kvtrace sanitize" : null,
        },
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
