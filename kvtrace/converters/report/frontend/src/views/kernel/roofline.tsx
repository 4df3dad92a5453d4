// Every distinct call under the roof of the device: what bounds it, and how near it comes.

import { useMemo, useState } from "preact/hooks";

import { go } from "../../app/router";
import { theme } from "../../app/theme";
import {
  formatCount,
  formatGrid,
  formatRate,
  formatShare,
  type Maybe,
  plural,
  shortText,
  threeFigures,
} from "../../data/format";
import type { Page } from "../../data/page";
import type { Limits, Roofline as Position } from "../../data/types";
import { themeColours } from "../../parts/colours";
import { fieldsOf, words } from "../../parts/columns";
import { Curve, type Series } from "../../parts/curve";
import { type Column, Table } from "../../parts/table";
import { CallLink, Missing, Note } from "../../parts/text";
import { callColumns } from "./calls";
import { type Chart, chartOf, type Point, pointsOf, type Roof, roofsOf } from "./roofline_points";

export function Roofline({ page, calls }: { page: Page; calls: readonly number[] }) {
  const { report } = page;
  const { limits } = report;
  const known = useMemo(() => calls.filter((call) => report.calls[call]?.roofline), [calls]);
  const points = useMemo(() => pointsOf(report.calls, calls), [calls]);
  const [pointed, setPointed] = useState<Point | null>(null);
  if (!limits) {
    return (
      <Note>
        No roof: this page does not know the limits of the device that the kernels are for.
      </Note>
    );
  }
  if (!known.length && calls.some((call) => report.calls[call]?.bytes !== null)) {
    return (
      <Note>
        No roof: the limits of {shortText(limits.name)} do not say how fast it does what these calls
        compute.
      </Note>
    );
  }
  if (!known.length) {
    return (
      <Missing
        what="Where calls stand under the roof is not known: none of them was replayed yet. To derive it:"
        command={`kvtrace replay ${report.trace}`}
      />
    );
  }
  const flat = known.length - points.length;
  return (
    <>
      <p class="small muted">{roofText(limits)}</p>
      {points.length ? (
        <>
          <Chart points={points} limits={limits} onPoint={setPointed} />
          <p class="kernel-status small" id="roofline-status" aria-live="polite">
            <Said page={page} point={pointed} />
          </p>
        </>
      ) : null}
      {flat ? (
        <p class="small muted">
          {plural(flat, "call")} without FLOPs or bytes {flat === 1 ? "stands" : "stand"} in the
          table only.
        </p>
      ) : null}
      <PositionTable page={page} rows={known} chosen={pointed?.call ?? null} />
    </>
  );
}

const HOW: Readonly<Record<string, string>> = {
  recorded: "the device that was recorded",
  given: "the device that was given",
  assumed: "assumed for what the kernels were compiled for",
};

function roofText(limits: Limits): string {
  const how = HOW[limits.how] ?? limits.how;
  return `Roof of ${shortText(limits.name)} (${how}; ${shortText(limits.source)}): memory ${formatRate(limits.bandwidth, "B/s")}. Points at measured times where the trace has them, else at what the limits allow (derived).`;
}

function Chart(props: {
  points: readonly Point[];
  limits: Limits;
  onPoint(point: Point | null): void;
}) {
  const { points, limits } = props;
  const roofs = useMemo(() => roofsOf(points, limits), [points]);
  const chart = useMemo(() => chartOf(points, roofs, limits.bandwidth), [points, roofs]);
  const series = useMemo(
    () => seriesOf(chart, roofs, limits.bandwidth),
    [chart, roofs, theme.value],
  );
  const measured = points.filter(({ reached }) => reached !== null).length;
  return (
    <div id="roofline-chart">
      <Curve
        label={`Roofline of ${plural(points.length, "call")}, ${formatCount(measured)} of them measured: FLOPs per second over FLOPs per distinct byte. The table below has all of it`}
        x={chart.x}
        series={series}
        xLabel="FLOPs per distinct byte"
        yLabel="FLOP/s"
        logarithmic
        formatX={threeFigures}
        formatY={(rate) => formatRate(rate, "")}
        height={320}
        onPoint={(place) => props.onPoint(place === null ? null : (chart.points[place] ?? null))}
        onChoose={(place) => {
          const point = chart.points[place];
          if (point) go(`call/${point.call}`);
        }}
      />
    </div>
  );
}

function seriesOf(chart: Chart, roofs: readonly Roof[], bandwidth: number): readonly Series[] {
  const colours = themeColours();
  return [
    ...roofs.map((roof): Series => ({
      label: `roof: ${roof.label} ${formatRate(roof.rate, "FLOP/s")}`,
      kind: "line",
      colour: colours.muted,
      values: chart.x.map((x) => Math.min(bandwidth * x, roof.rate)),
    })),
    {
      label: "measured",
      kind: "points",
      colour: colours.accent,
      values: chart.points.map((point) => point?.reached ?? null),
    },
    {
      label: "derived, at best",
      kind: "points",
      colour: colours.warning,
      values: chart.points.map((point) =>
        point && point.reached === null ? point.attainable : null,
      ),
    },
  ];
}

function Said({ page, point }: { page: Page; point: Point | null }) {
  const call = page.report.calls[point?.call ?? -1];
  if (!point || !call?.roofline) {
    return <span class="muted">Point at a mark to see its call; a click leads there.</span>;
  }
  const rate =
    point.reached === null
      ? `${formatRate(point.attainable, "FLOP/s")} at best (derived)`
      : `${formatRate(point.reached, "FLOP/s")} (measured), ${formatShare(call.roofline.achieved, 1)} of the time at best`;
  return (
    <>
      Call <CallLink page={page} call={point.call} />, grid {formatGrid(call.grid)}:{" "}
      {threeFigures(point.intensity)} FLOPs per byte, {rate}; bound by{" "}
      {call.roofline.position.bound}
    </>
  );
}

function PositionTable(props: { page: Page; rows: readonly number[]; chosen: number | null }) {
  const { page, rows } = props;
  const at = (index: number) => page.report.calls[index]?.roofline as Position;
  const field = fieldsOf(at);
  const limit = fieldsOf((index: number) => at(index).position);
  const call = fieldsOf((index: number) => page.report.calls[index]);
  const rate = (value: Maybe<number>): string => formatRate(value, "FLOP/s");
  const some = (field: "reached" | "achieved"): boolean =>
    rows.some((index) => at(index)[field] !== null);
  const tuned = "Of an execution; autotuners' and warm-ups' left out";
  const columns: (Column<number> | false)[] = [
    ...callColumns(page),
    field("intensity", "derived", "intensity", "number", "FLOPs per distinct byte"),
    words("Bound by", (index) => at(index).position.bound, { title: "Memory, caches, or compute" }),
    limit("at best", "derived", "best_ns", "ns", "Time of one launch that the limits allow"),
    field("attainable", "derived", "attainable", rate, "FLOPs per second at its intensity"),
    some("reached") && call("device median", "measured", "device_median_ns", "ns", tuned),
    some("reached") &&
      field("reached", "measured", "reached", rate, "FLOPs over the median time on the device"),
    some("achieved") &&
      field("of roofline", "derived", "achieved", "share", "Time at best in the measured time"),
    limit("caches", "derived", "uncached_ns", "ns", "Time if caches served nothing again"),
  ];
  return (
    <Table
      id="roofline"
      caption="Calls under the roof of the device"
      columns={columns}
      rows={rows}
      chosen={props.chosen}
      height={8}
    />
  );
}
