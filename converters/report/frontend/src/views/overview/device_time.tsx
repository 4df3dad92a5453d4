// All that devices did, whoever launched it, and what the host did while they were idle.

import { formatNanoseconds, formatShare, plural } from "../../data/format";
import { page } from "../../data/page";
import type { DeviceRow, DeviceTime, Window } from "../../data/types";
import { code, figure, sharedFigure, words } from "../../parts/columns";
import { type Column, Table } from "../../parts/table";
import { Section } from "../../parts/text";

export function TimeOfDevices() {
  const time = page.report.device_time;
  if (!time) return null;
  return (
    <Section title="Time of the device" id="device-time">
      <p>{sentences(time, page.report.window).join(" ")}</p>
      <Table
        caption="Time of the device"
        columns={columnsOf(time)}
        rows={time.rows}
        height={8}
        empty="Nothing but autotuners ran."
      />
    </Section>
  );
}

function sentences({ busy, devices, steps, ...time }: DeviceTime, part: Window | null): string[] {
  const ns = formatNanoseconds;
  const said = [
    `${devices === 1 ? "The device was" : `${plural(devices, "device")} were`} busy for ` +
      `${ns(busy.busy_ns)}, ${formatShare(busy.busy_ns, busy.span_ns)} of ` +
      `${ns(busy.span_ns)}, and idle for ${ns(busy.idle_compiling_ns)} while kernels were ` +
      `compiled or loaded, ${ns(busy.idle_launching_ns)} while one was launched, and ` +
      `${ns(busy.idle_elsewhere_ns)} while the host did anything else.`,
  ];
  if (time.tuning_executions) {
    const tried = plural(time.tuning_executions, "execution");
    said.push(`Not in the rows: ${tried} of autotuners and warm-ups, ${ns(time.tuning_ns)}.`);
  }
  if (steps) {
    const found = steps.name === null ? "" : `, marked ${steps.name},`;
    const mean = ns(steps.span_ns / steps.number);
    said.push(`A step${found} takes ${mean} in the mean of ${steps.number}.`);
  }
  if (part?.before_ns) {
    const compiling = part.before_compiling_ns
      ? `, of which ${ns(part.before_compiling_ns)} compiling`
      : "";
    said.push(`Figures are of the steady part; start-up was ${ns(part.before_ns)}${compiling}.`);
  }
  return said;
}

function columnsOf({ rows, device_ns, steps }: DeviceTime): (Column<DeviceRow> | false)[] {
  return [
    code("Kernel", (row) => row.name, { limit: 64, prose: true }),
    words("Of", (row) => row.kind),
    figure("executions", "measured", (row) => row.executions),
    figure("time", "measured", (row) => row.device_ns, "ns"),
    sharedFigure("share", "measured", (row) => row.device_ns, device_ns),
    figure("median", "measured", (row) => row.median_ns, "ns"),
    steps !== null && figure("a step", "measured", (row) => row.step_ns, "ns"),
    rows.some((row) => row.bytes !== null) &&
      figure("bytes", "measured", (row) => row.bytes, "bytes"),
  ];
}
