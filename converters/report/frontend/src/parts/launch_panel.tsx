// A launch in brief, beside the list or below the timeline.

import type { JSX } from "preact";

import { href } from "../app/router";
import { formatCount, formatGrid, formatMoment, formatNanoseconds } from "../data/format";
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
          ["Host time", <Value source="measured">{formatNanoseconds(launches.duration[row])}</Value>],
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
