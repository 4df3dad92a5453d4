// A call, and a launch of it.

import { NotHere } from "../../app/boundary";
import { href } from "../../app/router";
import type { View, ViewProps } from "../../app/view";
import { formatCount, formatGrid, formatPlace, gridSize, shortText } from "../../data/format";
import type { Page } from "../../data/page";
import type { Call } from "../../data/types";
import { Figures } from "../../parts/figure";
import { LaunchFacts } from "../../parts/launch_panel";
import { matches } from "../../parts/search";
import { Facts, kernelName, Note, Swatch, VariantLink } from "../../parts/text";
import { CallParts } from "./call";
import "./launch.css";

function LaunchOrCall({ page, params }: ViewProps) {
  if (params["launch"] !== undefined) return <Launch page={page} row={Number(params["launch"])} />;
  const index = Number(params["call"]);
  const call = page.report.calls[index];
  if (!call) return <NotHere what="call" />;
  const kernel = page.report.variants[call.variant]?.kernel ?? -1;
  const launches = href("launches", { call: index });
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
          ["Launches", <a href={launches}>{formatCount(call.launches)}</a>],
          ["Called at", <Frames page={page} stack={call.stack} />],
        ]}
      />
      <CallFigures call={call} />
      <CallParts key={index} page={page} index={index} call={call} />
    </>
  );
}

function Launch({ page, row }: { page: Page; row: number }) {
  const { report, launches } = page;
  if (launches.seq[row] === undefined) return <NotHere what="launch" />;
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
      {call ? (
        <>
          <CallFigures call={call} />
          <CallParts key={index} page={page} index={index} call={call} />
        </>
      ) : (
        <Note>Its call is not on this page.</Note>
      )}
    </>
  );
}

/** The launch before or after of the same call. */
function Neighbour(props: { page: Page; row: number; step: 1 | -1 }) {
  const { call } = props.page.launches;
  const own = call[props.row] ?? -1;
  let row = props.row + props.step;
  while (call[row] !== undefined && call[row] !== own) row += props.step;
  if (own < 0 || call[row] === undefined) return null;
  return (
    <a href={href(`launch/${row}`)}>
      {props.step < 0 ? "← previous" : "next"} launch of this call{props.step > 0 ? " →" : ""}
    </a>
  );
}

function Grid({ call: { grid } }: { call: Call }) {
  const size = gridSize(grid);
  return (
    <span id="grid">
      {formatGrid(grid)}{" "}
      <span class="muted">
        {(grid[1] ?? 1) * (grid[2] ?? 1) > 1 ? `= ${formatCount(size)} ` : ""}
        {size === 1 ? "program" : "programs"}
      </span>
    </span>
  );
}

function Frames(props: { page: Page; stack: number | null }) {
  const frames = (props.page.report.stacks[props.stack ?? -1] ?? []).map(([file, line, name]) => (
    <code title={shortText(file)}>
      {shortText(formatPlace(file, line))} in {shortText(name ?? "?")}
    </code>
  ));
  const [inner, ...outer] = frames;
  if (!outer.length) return inner ?? null;
  return (
    <details class="inline">
      <summary>{inner}</summary>
      <ol class="stack">
        {outer.map((frame, depth) => (
          <li key={depth}>{frame}</li>
        ))}
      </ol>
    </details>
  );
}

function CallFigures({ call }: { call: Call }) {
  const { bound, best_ns: best } = call.roofline?.position ?? {};
  return (
    <Figures
      id="call-figures"
      of={[
        {
          name: "host time, median",
          value: call.host_median_ns,
          as: "ns",
          source: "measured",
          how: "Median of its launches, tuning left out",
        },
        {
          name: "device time, median",
          value: call.device_median_ns,
          as: "ns",
          source: "measured",
          how: "Median of its executions on the device",
        },
        {
          name: "at best",
          value: best,
          as: "ns",
          how: "Time at best by the device's limits",
          detail: bound ? `derived, bound by ${bound}` : "derived",
        },
        { name: "bytes", value: call.bytes, as: "bytes", how: "Of one launch" },
        { name: "distinct bytes", value: call.unique_bytes, as: "bytes" },
        { name: "FLOPs", value: call.flops, as: "flops" },
        {
          name: "mask efficiency",
          value: call.mask_efficiency,
          as: "share",
          how: "Lanes of loads, stores and atomics that are on",
        },
        {
          name: "sector efficiency",
          value: call.sector_efficiency,
          as: "share",
          how: "Bytes asked for, of those in the 32-byte sectors that they lie in",
        },
      ]}
    />
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
        title: `Call ${call.call_id} of ${kernelName(report, report.variants[call.variant]?.kernel ?? -1)}`,
        detail: `grid ${formatGrid(call.grid)}`,
        href: href(`call/${index}`),
      }))
      .filter(({ title }) => matches(words, title))
      .slice(0, 4),
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
