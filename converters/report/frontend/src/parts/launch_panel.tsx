// A launch in brief, beside the list or below the timeline.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";

import { href } from "../app/router";
import { executionsOf } from "../data/executions";
import { formatCount, formatGrid, formatMoment, formatNanoseconds, plural } from "../data/format";
import type { Page } from "../data/page";
import { ArgumentTable } from "./arguments";
import { Value } from "./figure";
import { CallLink, Facts, KernelLink, Note, trackName } from "./text";

/** `row` is the launch's row on this page. */
export function LaunchPanel(props: { page: Page; row: number }): JSX.Element {
  const { page, row } = props;
  const { report, launches } = page;
  const callIndex = launches.call[row] ?? -1;
  const call = report.calls[callIndex];
  return (
    <div class="panel">
      <h2>
        <a href={href(`launch/${row}`)}>Launch {formatCount(launches.seq[row])}</a>
      </h2>
      <Facts
        entries={[
          ["Kernel", <KernelLink page={page} kernel={launches.kernel[row] ?? -1} />],
          ["Call", <CallLink page={page} call={callIndex} />],
          ["Begin", `${formatMoment(launches.begin[row] ?? 0)} after the first event`],
          [
            "Host time",
            <Value source="measured">{formatNanoseconds(launches.duration[row])}</Value>,
          ],
          ["On the device", <DeviceTime page={page} row={row} />],
          ["Phase", report.phases[launches.phase[row] ?? -1]],
          ["Thread", trackName(report, launches.track[row] ?? -1)],
          ["Grid", call ? formatGrid(call.grid) : null],
        ]}
      />
      {call ? (
        <ArgumentTable page={page} call={call} brief />
      ) : (
        <Note>Its call is not on this page.</Note>
      )}
    </div>
  );
}

/** The time of what the launch caused on the device, where a timeline of that was recorded. */
function DeviceTime({ page, row }: { page: Page; row: number }): JSX.Element | string {
  const executions = useMemo(() => executionsOf(page, row), [page, row]);
  const { device, report } = page;
  if (!executions.length) {
    return report.totals.device_ns === null
      ? "no timeline of the device was recorded"
      : "nothing is known";
  }
  const time = executions.reduce((sum, each) => sum + (device.duration[each] as number), 0);
  const begin = device.begin[executions[0] as number] as number;
  return (
    <Value source="measured" how="Sum over the executions that it caused">
      {formatNanoseconds(time)} in {plural(executions.length, "execution")}, the first{" "}
      {formatNanoseconds(begin - (page.launches.begin[row] as number))} after the launch began
    </Value>
  );
}
