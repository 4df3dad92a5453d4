// A call, and a launch of it.

import { LaunchFacts } from "../../parts/launch_panel";
import { NotHere } from "../../app/boundary";
import { href } from "../../app/router";
import type { View, ViewProps } from "../../app/view";
import {
  formatBytes,
  formatCount,
  formatFlops,
  formatGrid,
  formatNanoseconds,
  formatPlace,
  formatShare,
  gridSize,
  shortText,
} from "../../data/format";
import type { Page } from "../../data/page";
import type { Call } from "../../data/types";
import { Figure, Figures } from "../../parts/figure";
import { Facts, Note, Swatch, VariantLink, kernelName } from "../../parts/text";
import { matches } from "../../parts/search";
import { CallParts } from "./call";
import "./launch.css";

function LaunchOrCall(props: ViewProps) {
  if (props.params["launch"] !== undefined) return <Launch {...props} />;
  const index = Number(props.params["call"]);
  const call = props.page.report.calls[index];
  if (!call) return <NotHere what="call" />;
  return <CallPage key={index} page={props.page} index={index} call={call} />;
}

function CallPage(props: { page: Page; index: number; call: Call }) {
  const { page, index, call } = props;
  const kernel = page.report.variants[call.variant]?.kernel ?? -1;
  return (
    <>
      <h1>
        <Swatch kernel={kernel} />
        Call {formatCount(call.call_id)} of {kernelName(page.report, kernel)}
      </h1>
      <Facts
        entries={[
          ["Kernel", <VariantLink page={page} variant={call.variant} />],
          ["Grid", <Grid call={call} />],
          [
            "Launches",
            <a href={href("launches", { call: index })}>{formatCount(call.launches)}</a>,
          ],
          ["Called at", <Frames page={page} stack={call.stack} />],
        ]}
      />
      <CallFigures call={call} />
      <CallParts page={page} index={index} call={call} />
    </>
  );
}

function Launch({ page, params }: ViewProps) {
  const { report, launches } = page;
  const row = Number(params["launch"]);
  if (!Number.isInteger(row) || row < 0 || row >= launches.seq.length)
    return <NotHere what="launch" />;
  const index = launches.call[row] ?? -1;
  const call = report.calls[index];
  const kernel = launches.kernel[row] ?? -1;
  return (
    <>
      <h1>
        <Swatch kernel={kernel} />
        Launch {formatCount(launches.seq[row])} of {kernelName(report, kernel)}
      </h1>
      <p class="launch-neighbours">
        <Neighbour page={page} row={row} step={-1} /> <Neighbour page={page} row={row} step={1} />
      </p>
      <LaunchFacts page={page} row={row} grid={call ? <Grid call={call} /> : null} />
      {call ? <CallFigures call={call} /> : <Note>Its call is not on this page.</Note>}
      {call ? <CallParts key={index} page={page} index={index} call={call} /> : null}
    </>
  );
}

/** The launch before or after of the same call. */
function Neighbour(props: { page: Page; row: number; step: 1 | -1 }) {
  const { call, seq } = props.page.launches;
  const own = call[props.row] ?? -1;
  let row = props.row + props.step;
  while (row >= 0 && row < seq.length && call[row] !== own) row += props.step;
  if (own < 0 || row < 0 || row >= seq.length) return null;
  return (
    <a href={href(`launch/${row}`)}>
      {props.step < 0 ? "← previous" : "next"} launch of this call{props.step > 0 ? " →" : ""}
    </a>
  );
}

function Grid(props: { call: Call }) {
  const { grid } = props.call;
  return (
    <span id="grid">
      {formatGrid(grid)}{" "}
      <span class="muted">
        {(grid[1] ?? 1) * (grid[2] ?? 1) > 1 ? `= ${formatCount(gridSize(grid))} ` : ""}
        {gridSize(grid) === 1 ? "program" : "programs"}
      </span>
    </span>
  );
}

function Frames(props: { page: Page; stack: number | null }) {
  const frames = props.page.report.stacks[props.stack ?? -1];
  const [inner, ...outer] = frames ?? [];
  if (!inner) return null;
  const text = ([file, line, name]: NonNullable<typeof inner>): string =>
    `${shortText(formatPlace(file, line))} in ${shortText(name ?? "?")}`;
  if (!outer.length) return <code title={shortText(inner[0])}>{text(inner)}</code>;
  return (
    <details class="inline">
      <summary>
        <code title={shortText(inner[0])}>{text(inner)}</code>
      </summary>
      <ol class="stack">
        {outer.map((frame) => (
          <li key={text(frame)}>
            <code title={shortText(frame[0])}>{text(frame)}</code>
          </li>
        ))}
      </ol>
    </details>
  );
}

function CallFigures(props: { call: Call }) {
  const { call } = props;
  const share = (value: number | null | undefined): string => formatShare(value ?? null, 1);
  const bound = call.roofline?.position.bound;
  return (
    <Figures id="call-figures">
      <Figure
        name="host time, median"
        value={call.host_median_ns}
        format={formatNanoseconds}
        source="measured"
        how="Median of its launches, tuning left out"
      />
      <Figure
        name="device time, median"
        value={call.device_median_ns}
        format={formatNanoseconds}
        source="measured"
        how="Median of its executions on the device"
      />
      <Figure
        name="at best"
        value={call.roofline?.position.best_ns}
        format={formatNanoseconds}
        how="Time at best by the device's limits"
        detail={bound ? `derived, bound by ${bound}` : "derived"}
      />
      <Figure name="bytes" value={call.bytes} format={formatBytes} how="Of one launch" />
      <Figure name="distinct bytes" value={call.unique_bytes} format={formatBytes} />
      <Figure name="FLOPs" value={call.flops} format={formatFlops} />
      <Figure
        name="mask efficiency"
        value={call.mask_efficiency}
        format={share}
        how="Lanes of loads, stores and atomics that are on"
      />
      <Figure
        name="sector efficiency"
        value={call.sector_efficiency}
        format={share}
        how="Bytes asked for, of those in the 32-byte sectors that they lie in"
      />
    </Figures>
  );
}

const view: View = {
  name: "launch",
  title: "Programs, ops and accesses",
  section: "launches",
  order: 31,
  routes: ["launch/:launch", "call/:call"],
  find: ({ report }, words) =>
    report.calls
      .map((call, index) => ({
        call,
        index,
        name: kernelName(report, report.variants[call.variant]?.kernel ?? -1),
      }))
      .filter(({ call, name }) => matches(words, `call ${call.call_id} of ${name}`))
      .slice(0, 4)
      .map(({ call, index, name }) => ({
        title: `Call ${call.call_id} of ${name}`,
        detail: `grid ${formatGrid(call.grid)}`,
        href: href(`call/${index}`),
      })),
  keys: [
    ["[ ]", "Previous or next program"],
    [", .", "Previous or next iteration"],
    ["a", "All programs and iterations"],
    ["↑ ↓ ← →", "On a map: the element beside; with Shift, move the map"],
    ["+ - 0", "On a map: zoom in, out, all of it"],
  ],
  Component: LaunchOrCall,
};

export default view;
