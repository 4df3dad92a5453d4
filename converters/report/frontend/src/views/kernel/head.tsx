// What a kernel is, and its figures over all variants.

import type { JSX } from "preact";

import {
  formatBytes,
  formatCount,
  formatFlops,
  formatNanoseconds,
  formatShare,
  plural,
  shortText,
} from "../../data/format";
import type { Page } from "../../data/page";
import { Figure, Figures } from "../../parts/figure";
import { Facts } from "../../parts/text";

export function KernelHead({ page, index }: { page: Page; index: number }): JSX.Element | null {
  const { report } = page;
  const kernel = report.kernels[index];
  if (!kernel) return null;
  const tuning = kernel.tuning_launches;
  return (
    <>
      <Facts
        entries={[
          ["Defined", kernel.file ? <code class="wrap">{shortText(kernel.file)}{kernel.line === null ? "" : `:${kernel.line}`}</code> : null],
          ["Module", kernel.module ? shortText(kernel.module) : null],
          ["Comes from", kernel.origin],
        ]}
      />
      <Figures id="figures">
        <Figure name="launches" value={kernel.launches} shown={formatCount(kernel.launches)} source="measured" detail={tuning ? `${formatCount(tuning)} of them tuning` : `of ${plural(kernel.calls, "distinct call")}`} />
        <Figure name="host time" value={kernel.host_ns} shown={formatNanoseconds(kernel.host_ns)} source="measured" how="Sum over launches, from entering the launching function to its return" detail={`${formatShare(kernel.host_ns, report.totals.host_ns)} of all kernels'`} />
        {report.totals.device_ns === null ? null : (
          <Figure name="device time" value={kernel.device_ns} shown={formatNanoseconds(kernel.device_ns)} source="measured" how="Sum over executions on the device" detail={kernel.device_executions === null ? null : plural(kernel.device_executions, "execution")} />
        )}
        {kernel.achieved === null ? null : (
          <Figure name="of roofline" value={kernel.achieved} shown={formatShare(kernel.achieved, 1)} source="derived" how="Share of the time at best in the measured device time of its runs" detail={`at best ${formatNanoseconds(kernel.best_ns)}`} />
        )}
        <Figure name="bytes moved" value={kernel.bytes} shown={formatBytes(kernel.bytes)} source="derived" how="Of active lanes, over all runs of the calls that were replayed" detail={kernel.bytes === null ? "run kvtrace replay" : null} />
        <Figure name="FLOPs" value={kernel.flops} shown={formatFlops(kernel.flops)} source="derived" how="Over all runs of the calls that were replayed" detail={kernel.flops === null ? "run kvtrace replay" : null} />
        <Figure name="compile time" value={kernel.compile_ns} shown={formatNanoseconds(kernel.compile_ns)} source="measured" how="Sum over variants" detail={plural(kernel.variants.length, "variant")} />
        <Figure name="violations" value={kernel.violations} shown={formatCount(kernel.violations)} source="derived" how="Distinct ones, by kvtrace sanitize" detail={kernel.violations === null ? "run kvtrace sanitize" : kernel.unknowns ? `${formatCount(kernel.unknowns)} unknown` : null} />
      </Figures>
    </>
  );
}
