// A launch in brief, beside the list or below the timeline.

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { href } from "../app/router";
import { executionsOf, runOf } from "../data/executions";
import {
  formatCount,
  formatGrid,
  formatMoment,
  formatNanoseconds,
  plural,
  shortText,
} from "../data/format";
import { launchNumber } from "../data/launch_numbers";
import { page } from "../data/page";
import { startUps } from "../data/start_up";
import { ArgumentTable } from "./arguments";
import { Value } from "./figure";
import { StartUpChips } from "./start_up";
import { CallLink, Facts, KernelLink, Note, trackName } from "./text";

/** What is known of a launch; `row` is its row on this page. */
export function LaunchFacts({ row, grid }: RowProps & { grid: ComponentChildren }) {
  const { report, launches } = page;
  const run = report.runs.length > 1 ? report.runs[runOf(launches.track[row])] : null;
  return (
    <Facts
      entries={[
        ["Run", run ? shortText(run.run_id) : null],
        ["Kernel", <KernelLink kernel={launches.kernel[row] ?? -1} />],
        ["Call", <CallLink call={launches.call[row] ?? -1} />],
        [
          "Begin",
          <Value source="measured">
            {formatMoment(launches.begin[row] ?? 0)} after the first event
          </Value>,
        ],
        ["Host time", <Value source="measured">{formatNanoseconds(launches.duration[row])}</Value>],
        ["Start-up", startUps().has(row) && <StartUpChips of={startUps().get(row)} />],
        ["On the device", <DeviceTime row={row} />],
        ["Phase", report.phases[launches.phase[row] ?? -1]],
        ["Thread", trackName(launches.track[row] ?? -1)],
        ["Grid", grid],
      ]}
    />
  );
}

interface RowProps {
  readonly row: number;
}

export function LaunchPanel({ row }: RowProps) {
  const { report, launches } = page;
  const callIndex = launches.call[row] ?? -1;
  const call = report.calls[callIndex];
  return (
    <div class="panel">
      <h2>
        <a href={href(`launch/${launchNumber(row)}`)}>Launch {formatCount(launches.seq[row])}</a>
      </h2>
      <LaunchFacts row={row} grid={call ? formatGrid(call.grid) : null} />
      {call ? <ArgumentTable call={call} brief /> : <Note>Its call is not on this page.</Note>}
    </div>
  );
}

/** The time of what the launch caused on the device, where a timeline of that was recorded. */
function DeviceTime({ row }: { row: number }) {
  const executions = useMemo(() => executionsOf(row), [row]);
  const { device, report } = page;
  if (!executions.length) {
    return report.totals.device_ns === null
      ? "no timeline of the device was recorded"
      : "nothing is known";
  }
  const time = executions.reduce((sum, each) => sum + (device.duration[each] as number), 0);
  const begin = device.begin[executions[0] as number] as number;
  return (
    <Value source="measured" how="Sum over the launch's executions">
      {formatNanoseconds(time)} in {plural(executions.length, "execution")}, the first{" "}
      {formatNanoseconds(begin - (page.launches.begin[row] as number))} after the launch began
    </Value>
  );
}
