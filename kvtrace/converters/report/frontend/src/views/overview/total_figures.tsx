// The figures over all runs, each with where it is from.

import {
  formatBytes,
  formatCount,
  formatFlops,
  formatNanoseconds,
  plural,
  sumKnown,
} from "../../data/format";
import type { Page } from "../../data/page";
import { Figure, Figures } from "../../parts/figure";

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
    <Figures id="figures">
      <Figure
        name="launches"
        value={totals.launches}

        source="measured"
        detail={phases || null}
      />
      <Figure
        name="kernels"
        value={totals.kernels}

        source="measured"
        detail={plural(totals.variants, "compiled variant")}
      />
      <Figure
        name="distinct calls"
        value={totals.calls}

        source="measured"
        how="Grid and arguments' metadata differ"
      />
      <Figure
        name="host time"
        value={totals.host_ns}
        format={formatNanoseconds}
        source="measured"
        how="Sum over launches, from entering the launching function to its return"
      />
      <Figure
        name="compile time"
        value={totals.compile_ns}
        format={formatNanoseconds}
        source="measured"
        how="Sum over variants"
      />
      {totals.device_ns === null ? null : (
        <Figure
          name="device time"
          value={totals.device_ns}
          format={formatNanoseconds}
          source="measured"
          how="Sum over executions on the device"
          detail={plural(totals.gpu_kernels ?? 0, "execution")}
        />
      )}
      <Figure
        name="bytes moved"
        value={totals.bytes}
        format={formatBytes}
        how="By kvtrace replay, of active lanes"
        detail={evaluated}
      />
      <Figure
        name="FLOPs"
        value={totals.flops}
        format={formatFlops}
        how="By kvtrace replay"
        detail={evaluated}
      />
      <Figure
        name="violations"
        value={totals.violations}

        how="Distinct ones, by kvtrace sanitize"
        detail={totals.violations === null ? "run kvtrace sanitize" : null}
      />
      <Figure
        name="capture's own time"
        value={overhead}
        format={formatNanoseconds}
        source="measured"
        how="What kvtrace itself took in the process, its start included"
      />
      <Figure name="dropped rows" value={dropped} source="measured" />
    </Figures>
  );
}
