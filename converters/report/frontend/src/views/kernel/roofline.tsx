// Every unique call under the roof of the device: what bounds it, and how near it comes.

import { useMemo } from "preact/hooks";
import { href } from "../../app/router";
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
import { page } from "../../data/page";
import type { Call, Limits, Roofline as Position } from "../../data/types";
import { fieldsOf, words } from "../../parts/columns";
import { Plot } from "../../parts/plot";
import { type Column, Table } from "../../parts/table";
import { LIMITS_FROM, NotDerived, Note } from "../../parts/text";
import { callColumns } from "./calls";

export function Roofline({ calls }: { calls: readonly number[] }) {
  const { report } = page;
  const { limits } = report;
  const known = useMemo(() => calls.filter((call) => report.calls[call]?.roofline), [calls]);
  const points = useMemo(() => pointsOf(report.calls, calls), [calls]);
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
      <NotDerived
        what="Roofline positions of the calls are not known: none of them was replayed."
        variant={report.calls[calls[0] ?? -1]?.variant}
      />
    );
  }
  const flat = known.length - points.length;
  return (
    <>
      <p class="small muted">{roofText(limits)}</p>
      {points.length ? (
        <>
          <Chart points={points} limits={limits} />
          <p class="small muted">
            Blue marks are measured, the others derived. Click a mark to open its call.
          </p>
        </>
      ) : null}
      {flat ? (
        <p class="small muted">
          {plural(flat, "call")} without FLOPs or bytes {flat === 1 ? "is" : "are"} in the table
          only.
        </p>
      ) : null}
      <PositionTable rows={known} />
    </>
  );
}

function roofText(limits: Limits): string {
  const how = LIMITS_FROM[limits.how] ?? limits.how;
  return `Roof of ${shortText(limits.name)} (${how}; ${shortText(limits.source)}): memory ${formatRate(limits.bandwidth, "B/s")}. Points at measured times where the trace has them, else at what the limits allow (derived).`;
}

/** Marks of the calls under the roofs, each a link to its call. */
function Chart({ points, limits }: { points: readonly Point[]; limits: Limits }) {
  const roofs = roofsOf(points, limits);
  const places = [
    ...points.map(({ intensity }) => intensity),
    ...roofs.map(({ rate }) => rate / limits.bandwidth),
  ];
  const [left, right] = [Math.min(...places) / 4, Math.max(...places) * 4];
  const reached = points.map((point) => point.reached ?? point.attainable);
  const low = Math.min(left * limits.bandwidth, ...reached.map((rate) => rate / 2));
  const high = 2 * Math.max(...roofs.map(({ rate }) => rate), ...reached);
  const measured = points.filter((point) => point.reached !== null).length;
  return (
    <div id="roofline-chart">
      <Plot
        label={`Roofline of ${plural(points.length, "call")}, ${formatCount(measured)} of them measured: FLOPs per second over FLOPs per distinct byte. The table below has the same data`}
        x={{ label: "FLOPs per distinct byte", low: left, high: right, format: threeFigures }}
        y={{ label: "FLOP/s", low, high, format: (rate) => formatRate(rate, "") }}
        logarithmic
        height={320}
      >
        {(x, y) => (
          <>
            {roofs.map(({ label, rate }) => (
              <g key={rate}>
                <path
                  class="roof"
                  d={`M${x(left)} ${y(left * limits.bandwidth)}L${x(rate / limits.bandwidth)} ${y(rate)}H${x(right)}`}
                />
                <text x={x(right) - 4} y={y(rate) - 4} text-anchor="end">
                  {label} {formatRate(rate, "FLOP/s")}
                </text>
              </g>
            ))}
            {points.map((point) => (
              <a key={point.call} href={href(`call/${point.call}`)} tabindex={-1}>
                <circle
                  class={point.reached === null ? "derived" : "measured"}
                  cx={x(point.intensity)}
                  cy={y(point.reached ?? point.attainable)}
                  r={5}
                >
                  <title>{described(point)}</title>
                </circle>
              </a>
            ))}
          </>
        )}
      </Plot>
    </div>
  );
}

function described({ call, intensity, reached, attainable }: Point): string {
  const { report } = page;
  const { call_id: id, grid, roofline } = report.calls[call] as Call;
  const rate =
    reached === null
      ? `${formatRate(attainable, "FLOP/s")} at best (derived)`
      : `${formatRate(reached, "FLOP/s")} (measured), ${formatShare(roofline?.achieved, 1)} of the time at best`;
  return `Call ${formatCount(id)}, grid ${formatGrid(grid)}: ${threeFigures(intensity)} FLOPs per byte, ${rate}; bound by ${roofline?.position.bound}`;
}

/** A call that both computes and moves bytes. */
interface Point {
  /** Place in the report's calls. */
  readonly call: number;
  /** FLOPs per distinct byte. */
  readonly intensity: number;
  /** FLOPs per second that its mix of operations could reach. */
  readonly roof: number;
  /** At best, for its intensity. */
  readonly attainable: number;
  /** Over the median time on the device; null where that was not recorded. */
  readonly reached: number | null;
}

function pointsOf(calls: readonly Call[], indices: readonly number[]): readonly Point[] {
  return indices.flatMap((call) => {
    const position = calls[call]?.roofline;
    if (!position) return [];
    const { intensity, roof, attainable, reached } = position;
    if (!intensity || !roof || !attainable) return [];
    return [{ call, intensity, roof, attainable, reached }];
  });
}

interface Roof {
  readonly label: string;
  /** FLOPs per second. */
  readonly rate: number;
}

/** Roofs that are nearer than this are one. */
const SAME_ROOF = 1.05;
const MOST_ROOFS = 4;

/** The compute roofs of the points, highest first, each under its name in the limits if it has one. */
function roofsOf(points: readonly Point[], limits: Limits): readonly Roof[] {
  const rates = [...new Set(points.map(({ roof }) => roof))].sort((a, b) => b - a);
  const roofs: Roof[] = [];
  for (const rate of rates) {
    const last = roofs.at(-1);
    if (roofs.length === MOST_ROOFS || (last && last.rate / rate < SAME_ROOF)) continue;
    roofs.push({ label: peakName(rate, limits), rate });
  }
  return roofs;
}

/** Names of a device's peaks are near the peak itself only; a mix of types is in between. */
function peakName(rate: number, { matrix, vector }: Limits): string {
  const peaks = [
    ...Object.entries(vector).map(([type, peak]) => [`vector ${type}`, peak] as const),
    ...Object.entries(matrix).map(([type, peak]) => [`matrix ${type}`, peak] as const),
  ];
  const named = peaks.filter(([, peak]) => Math.abs(rate / peak - 1) < 0.01).map(([name]) => name);
  return named.length ? named.slice(0, 2).join(" or ") : "mix of operations";
}

function PositionTable({ rows }: { rows: readonly number[] }) {
  const at = (index: number) => page.report.calls[index]?.roofline as Position;
  const field = fieldsOf(at);
  const limit = fieldsOf((index: number) => at(index).position);
  const call = fieldsOf((index: number) => page.report.calls[index]);
  const rate = (value: Maybe<number>): string => formatRate(value, "FLOP/s");
  const some = (field: "reached" | "achieved"): boolean =>
    rows.some((index) => at(index)[field] !== null);
  const tuned = "Median over executions, without autotuners and warm-ups";
  const columns: (Column<number> | false)[] = [
    ...callColumns(),
    field("intensity", "derived", "intensity", "number", "FLOPs per distinct byte"),
    words("Bound by", (index) => at(index).position.bound, {
      title: "What bounds the call: memory, caches, or compute",
    }),
    limit("at best", "derived", "best_ns", "ns", "Least time of one launch by the device's limits"),
    field(
      "attainable",
      "derived",
      "attainable",
      rate,
      "Attainable FLOPs per second at its intensity",
    ),
    some("reached") && call("GPU median", "measured", "device_median_ns", "ns", tuned),
    some("reached") &&
      field("reached", "measured", "reached", rate, "FLOPs divided by the median GPU time"),
    some("achieved") &&
      field(
        "of roofline",
        "derived",
        "achieved",
        "share",
        "Roofline time divided by the measured time",
      ),
    limit("caches", "derived", "uncached_ns", "ns", "Least time if no access hit a cache"),
  ];
  return (
    <Table
      id="roofline"
      caption="Calls under the roof of the device"
      columns={columns}
      rows={rows}
      height={8}
    />
  );
}
