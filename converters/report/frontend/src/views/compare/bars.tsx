// Figures as pairs: two bars for each, and the table that says the same.

import { useMemo } from "preact/hooks";

import {
  formatBytes,
  formatCount,
  formatFlops,
  formatNanoseconds,
  threeFigures,
  UNKNOWN,
} from "../../data/format";
import { words } from "../../parts/columns";
import { type Column, Table } from "../../parts/table";
import type { Source } from "../../parts/text";
import { Pill, sourceText } from "../../parts/text";
import type { Metric } from "./blocks";

/** Which way a figure passed the threshold. */
export type Passed = "slower" | "faster";

interface PairsProps {
  readonly id: string;
  readonly caption: string;
  readonly metrics: readonly Metric[];
  /** Figures that passed a threshold, by name. */
  readonly over?: ReadonlyMap<string, Passed>;
}

export function Pairs({ id, caption, metrics, over }: PairsProps) {
  const columns = useMemo(
    (): Column<Metric>[] => [
      {
        label: "Figure",
        cell: (row) => (
          <>
            {metricName(row)} <PassedPill passed={over?.get(row.name)} />
            <Bars metric={row} over={over?.get(row.name) ?? ""} />
          </>
        ),
        key: metricName,
      },
      ...metricColumns<Metric>((row) => row),
      {
        ...words("From", metricSource),
        cell: (row) => (
          <span class="muted" title={sourceText(metricSource(row))}>
            {metricSource(row)}
          </span>
        ),
      },
    ],
    [over],
  );
  if (!metrics.length) return null;
  return <Table id={id} caption={caption} columns={columns} rows={metrics} />;
}

/** Both bars of a figure; the longer one is as long as there is room. */
function Bars({ metric, over }: { metric: Metric; over: Passed | "" }) {
  const most = Math.max(metric.before ?? 0, metric.after ?? 0) || 1;
  return (
    <span class="compare-pair" data-metric={metric.name} aria-hidden="true">
      {(["before", "after"] as const).map((side) => (
        <span key={side} class="compare-track">
          <span
            class={`compare-bar ${side} ${side === "after" ? over : ""}`}
            data-side={side}
            style={{ inlineSize: `${(100 * (metric[side] ?? 0)) / most}%` }}
          />
        </span>
      ))}
    </span>
  );
}

/** A figure on both sides, and what became of it. */
export function metricColumns<Row>(
  of: (row: Row) => Metric | null,
  source?: Source,
): Column<Row>[] {
  const column = (
    label: string,
    shown: (metric: Metric) => string,
    key: (metric: Metric) => number | null,
  ): Column<Row> => ({
    label,
    number: true,
    ...(source && { source }),
    cell: (row) => withMetric(row, shown) ?? UNKNOWN,
    key: (row) => withMetric(row, key),
    text: (row) => withMetric(row, shown) ?? "",
  });
  function withMetric<Value>(row: Row, read: (metric: Metric) => Value): Value | null {
    const metric = of(row);
    return metric && read(metric);
  }
  return [
    column(
      "Before",
      (metric) => formatMetric(metric, metric.before),
      ({ before }) => before,
    ),
    column(
      "After",
      (metric) => formatMetric(metric, metric.after),
      ({ after }) => after,
    ),
    column("Change", formatRatio, ratioOf),
  ];
}

export function PassedPill({ passed }: { passed: Passed | undefined }) {
  if (!passed) return null;
  return <Pill kind={passed === "slower" ? "error" : "fine"}>{passed}, over the threshold</Pill>;
}

const NAMES: Readonly<Record<string, string>> = {
  host_ns: "launching, host time",
  host_median_ns: "launch, median host time",
  device_ns: "GPU time",
  device_median_ns: "GPU time, median",
  compile_ns: "compiling",
  bytes: "bytes accessed",
  flops: "FLOPs",
  shared_bytes: "shared memory",
  sectors: "sectors of 32 bytes",
};

const RESOURCES: ReadonlySet<string> = new Set(["registers", "spills", "shared_bytes"]);

function metricName({ name }: Metric): string {
  return NAMES[name] ?? name;
}

function metricSource({ name, measured }: Metric): Source {
  if (RESOURCES.has(name)) return "compiler";
  return measured ? "measured" : "derived";
}

function formatMetric({ name, unit }: Metric, value: number | null): string {
  if (unit === "ns") return formatNanoseconds(value);
  if (unit === "bytes") return formatBytes(value);
  return name === "flops" ? formatFlops(value) : formatCount(value);
}

/** "+12 %", "×3.2"; "–" where a side is not known or BEFORE is zero. */
function formatRatio({ before, after }: Metric): string {
  if (before === null || after === null || (!before && after)) return UNKNOWN;
  if (before === after) return "same";
  const ratio = after / before;
  if (ratio >= 2 || (ratio > 0 && ratio <= 0.5)) return `× ${threeFigures(ratio)}`;
  return `${ratio > 1 ? "+" : "−"}${threeFigures(Math.abs(ratio - 1) * 100)} %`;
}

/** How far off it is: for sorting. */
function ratioOf({ before, after }: Metric): number | null {
  return before === null || after === null || !before ? null : after / before;
}
