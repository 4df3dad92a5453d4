// A call, and a launch of it: arguments and grid, programs and ops, and the chosen op's accesses.

import { useMemo } from "preact/hooks";
import { NotHere } from "../../app/boundary";
import { chosenNumber, href, setQuery } from "../../app/router";
import type { View, ViewProps } from "../../app/view";
import { formatCount, formatGrid, formatPlace, gridSize, shortText } from "../../data/format";
import { launchRow } from "../../data/launch_numbers";
import { page } from "../../data/page";
import type { Call, CallOps, Op } from "../../data/types";
import { useBlock } from "../../data/use_block";
import { ArgumentTable } from "../../parts/arguments";
import { Split } from "../../parts/beside";
import { derived, Figures, measured } from "../../parts/figure";
import { useKeys } from "../../parts/keys";
import { LaunchFacts } from "../../parts/launch_panel";
import { setTrip, useTrips } from "../../parts/loop_sliders";
import { WithRows } from "../../parts/rows";
import { matches } from "../../parts/search";
import {
  Facts,
  Folded,
  kernelName,
  NotDerived,
  Note,
  Section,
  Swatch,
  VariantLink,
} from "../../parts/text";
import { findingsHere, FindingTable, type HereFinding } from "./findings";
import { isMemory } from "../../accesses/grid_work";
import { tellsTrips } from "../../accesses/trips";
import "./launch.css";
import { OpPanel } from "./op_panel";
import { OpList, USED } from "./ops";
import { Programs } from "./programs";
import { Recorded } from "./recorded";
import { hasWarps, touchedBy } from "./scene";
import { chosenProgram, type Place, programNumber, programQuery } from "./state";

function LaunchOrCall({ params }: ViewProps) {
  const launch = params["launch"];
  if (launch !== undefined) return <WithRows>{() => <Launch row={launchRow(launch)} />}</WithRows>;
  const index = Number(params["call"]);
  const call = page.report.calls[index];
  if (!call) return <NotHere what="call" />;
  const kernel = page.report.variants[call.variant]?.kernel ?? -1;
  const launches = href("launches", { call: index });
  return (
    <>
      <h1>
        <Swatch kernel={kernel} />
        Call {formatCount(call.call_id)} of {kernelName(kernel)}
      </h1>
      <Facts
        entries={[
          ["Kernel", <VariantLink variant={call.variant} />],
          ["Grid", <Grid call={call} />],
          ["Launches", <a href={launches}>{formatCount(call.launches)}</a>],
          ["Called at", <Frames stack={call.stack} />],
        ]}
      />
      <CallParts key={index} index={index} call={call} />
    </>
  );
}

function Launch({ row }: { row: number | null }) {
  const { report, launches } = page;
  if (row === null) return <NotHere what="launch" />;
  const index = launches.call[row] ?? -1;
  const call = report.calls[index];
  const kernel = launches.kernel[row] ?? -1;
  return (
    <>
      <h1>
        <Swatch kernel={kernel} />
        Launch {formatCount(launches.seq[row])} of {kernelName(kernel)}
      </h1>
      <LaunchFacts row={row} grid={call ? <Grid call={call} /> : null} />
      {call ? (
        <CallParts key={index} index={index} call={call} />
      ) : (
        <Note>Its call is not on this page.</Note>
      )}
    </>
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

function Frames(props: { stack: number | null }) {
  const frames = (page.report.stacks[props.stack ?? -1] ?? []).map(([file, line, name]) => (
    <code title={shortText(file)}>
      {shortText(formatPlace(file, line))} in {shortText(name ?? "?")}
    </code>
  ));
  const [inner, ...outer] = frames;
  if (!outer.length) return inner ?? null;
  return (
    <Folded of={inner}>
      <ol class="stack">
        {outer.map((frame, depth) => (
          <li key={depth}>{frame}</li>
        ))}
      </ol>
    </Folded>
  );
}

function CallFigures({ call }: { call: Call }) {
  const { bound, best_ns: best } = call.roofline?.position ?? {};
  const how = bound ? `derived, bound by ${bound}` : null;
  return (
    <Figures
      id="call-figures"
      of={[
        measured(
          "host time, median",
          call.host_median_ns,
          "ns",
          "Median over launches, without autotuners",
        ),
        page.report.totals.device_ns !== null &&
          measured("GPU time, median", call.device_median_ns, "ns", "Median over its executions"),
        page.report.limits?.how !== "assumed" &&
          derived("at best", best, "ns", "Least time by the device's limits", how),
        derived("bytes", call.bytes, "bytes", "Of one launch"),
        derived("distinct bytes", call.unique_bytes, "bytes"),
        derived("FLOPs", call.flops, "flops"),
        derived(
          "mask efficiency",
          call.mask_efficiency,
          "share",
          "Share of lanes that are not masked off",
        ),
        hasWarps(call) && derived("sector efficiency", call.sector_efficiency, "share", USED),
      ]}
    />
  );
}

interface CallProps {
  readonly index: number;
  readonly call: Call;
}

function CallParts(props: CallProps) {
  const { index, call } = props;
  const loaded = useBlock<CallOps>(page, `call/${index}`);
  const block = loaded.state === "ready" ? loaded.value : null;
  const findings = useMemo(() => findingsHere(index, block), [index, block]);
  return (
    <>
      <CallFigures call={call} />
      <Section title="Arguments" id="arguments">
        <ArgumentTable call={call} />
      </Section>
      {findings.length ? (
        <Section title="Findings" id="findings">
          <FindingTable
            findings={findings}
            unitOf={(op) => (block && touchedBy(call, block, op)?.unit) ?? 1}
          />
        </Section>
      ) : null}
      {loaded.state === "missing" ? (
        <Section title="Ops" id="no-ops">
          <NotDerived
            what="The ops of this call are not on this page: they were not derived yet, or they did not fit."
            variant={call.variant}
          />
        </Section>
      ) : null}
      {loaded.state === "failed" ? (
        <Note kind="warning">Its ops cannot be read: {loaded.reason}</Note>
      ) : null}
      {block ? <Inside {...props} block={block} findings={findings} /> : null}
    </>
  );
}

function Inside({
  call,
  block,
  findings,
}: CallProps & { block: CallOps; findings: readonly HereFinding[] }) {
  const grid = useMemo<Place>(
    () => [call.grid[0] ?? 1, call.grid[1] ?? 1, call.grid[2] ?? 1],
    [call],
  );
  const op = chosenOp(block, findings);
  const toProgram = (step: 1 | -1): void => {
    const at = programNumber(chosenProgram(grid), grid) ?? (step > 0 ? -1 : 0);
    const next = Math.min(Math.max(at + step, 0), grid[0] * grid[1] * grid[2] - 1);
    setQuery({ p: programQuery(next, grid) });
  };
  const trips = useTrips();
  const nested = block.accesses.some((each) => each.op === op?.index && tellsTrips(each));
  const innermost = nested ? block.loops.find(({ index }) => index === op?.loop) : undefined;
  const toTrip = (step: 1 | -1): void => {
    if (!innermost) return setQuery({ it: Math.max((chosenNumber("it") ?? -1) + step, 0) });
    const next = Math.max((trips.get(innermost.index) ?? -1) + step, 0);
    setTrip(block.loops, innermost.index, Math.min(next, (innermost.max ?? 1) - 1));
  };
  useKeys({
    "[": () => toProgram(-1),
    "]": () => toProgram(1),
    ",": () => toTrip(-1),
    ".": () => toTrip(1),
    a: () => setQuery({ p: null, it: null, trips: null }),
  });
  return (
    <>
      <section id="inside">
        <Split
          wide="right"
          left={
            <>
              <h2>Programs</h2>
              <Programs block={block} grid={grid} findings={findings} op={op?.index ?? null} />
            </>
          }
          right={
            <>
              <h2>Ops</h2>
              <OpList block={block} op={op?.index ?? null} warps={hasWarps(call)} />
            </>
          }
        />
      </section>
      {op ? <OpPanel call={call} block={block} grid={grid} op={op} findings={findings} /> : null}
      <Section title="Recorded tensors" id="recorded">
        <Recorded block={block} />
      </Section>
    </>
  );
}

/** The op that the address names, or one with a finding, or the first whose accesses are known. */
function chosenOp({ ops, accesses }: CallOps, findings: readonly HereFinding[]): Op | null {
  const found = findings.find(({ op }) => op !== null)?.op;
  const named = [chosenNumber("op"), found, accesses[0]?.op].map((index) =>
    ops.find((op) => op.index === index),
  );
  return named.find(Boolean) ?? ops.find(isMemory) ?? ops[0] ?? null;
}

const view: View = {
  name: "launch",
  title: "Programs, ops and accesses",
  section: "launches",
  order: 31,
  routes: ["launch/:launch", "call/:call"],
  find: (words) =>
    page.report.calls
      .map((call, index) => ({
        title: `Call ${call.call_id} of ${kernelName(page.report.variants[call.variant]?.kernel ?? -1)}`,
        detail: `grid ${formatGrid(call.grid)}`,
        href: href(`call/${index}`),
      }))
      .filter(({ title }) => matches(words, title))
      .slice(0, 4),
  keys: [
    ["[ ]", "Previous or next program"],
    [", .", "Previous or next iteration"],
    ["a", "All programs and iterations"],
    ["↑ ↓ ← →", "On a map: go to the next element; with Shift, move the map"],
    ["+ - 0", "On a map: zoom in, zoom out, show all"],
  ],
  Component: LaunchOrCall,
};

export default view;
