// The figures over all runs, each with where it is from.

import { formatCount, plural, sumKnown } from "../../data/format";
import { page } from "../../data/page";
import { Figures, measured } from "../../parts/figure";
import { replayAdvice, workFigures } from "../../parts/work_figures";

/** Where launches are from, by their phase. */
const PHASES: Readonly<Record<string, string>> = {
  run: "of the program",
  autotune: "to tune kernels",
  warmup: "to warm up",
};

export function TotalFigures() {
  const { totals, runs, device_time: time, answer } = page.report;
  const within = answer?.within ?? "";
  const dropped = sumKnown(runs.map((run) => run.dropped_rows));
  const overhead = sumKnown(runs.map((run) => run.self_overhead_ns));
  // one phase alone is the program's own, and says nothing
  const phases = Object.entries(totals.phases);
  const byPhase = phases.map(([name, count]) => `${formatCount(count)} ${PHASES[name] ?? name}`);
  const evaluated =
    totals.evaluated_calls === null
      ? replayAdvice(page.report.without_ir !== null)
      : `${formatCount(totals.evaluated_calls)} of ${plural(totals.calls, "call")}`;
  const variants = plural(totals.variants, "compiled variant");
  return (
    <Figures
      id="figures"
      of={[
        measured("launches", totals.launches, "count", "", phases.length > 1 && byPhase.join(", ")),
        measured("kernels", totals.kernels, "count", "", variants),
        measured("unique calls", totals.calls, "count", "Same kernel, shapes, scalars, and grid"),
        workFigures(totals, totals.device_ns !== null, {
          host: within,
          compile: within && "in the whole run",
          device: `${plural(time?.executions ?? totals.gpu_kernels ?? 0, "execution")} ${within}`,
          replayed: evaluated,
        }),
        measured(
          "kvtrace overhead",
          overhead,
          "ns",
          "How long recording delayed the program's threads",
          runs.length === 1 ? runs[0]?.overhead : null,
        ),
        measured("dropped rows", dropped, "count", "Rows that the recording lost"),
      ]}
    />
  );
}
