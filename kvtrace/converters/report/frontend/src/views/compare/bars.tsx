// Figures as pairs: two bars for each, and the table that says the same.

import {
  formatBytes,
  formatCount,
  formatFlops,
  formatNanoseconds,
  threeFigures,
  UNKNOWN,
} from "../../data/format";
import type { Source } from "../../parts/text";
import type { Metric } from "./blocks";
import { useMemo } from "preact/hooks";
import { type Column, Table } from "../../parts/table";
import { Pill, sourceText } from "../../parts/text";

/** Which way a figure passed the threshold. */
export type Passed = "slower" | "faster";

interface PairsProps {
  readonly id: string;
  readonly caption: string;
  readonly metrics: readonly Metric[];
  /** Figures that passed a threshold, by name. */
  readonly over?: ReadonlyMap<string, Passed>;
}

export function Pairs(props: PairsProps) {
  const { metrics, over } = props;
  const columns = useMemo(() => columnsOf(over), [over]);
  if (!metrics.length) return null;
  return (
    <div class="compare-pairs" id={props.id}>
      <div class="compare-bars" aria-hidden="true">
        {metrics.map((metric) => (
          <Bars key={metric.name} metric={metric} over={over?.get(metric.name) ?? ""} />
        ))}
      </div>
      <Table caption={props.caption} columns={columns} rows={metrics} />
    </div>
  );
}

/** Both bars of a figure; the longer one is as long as there is room. */
function Bars({ metric, over }: { metric: Metric; over: Passed | "" }) {
  const most = Math.max(metric.before ?? 0, metric.after ?? 0);
  const bar = (side: "before" | "after") => {
    const value = metric[side];
    const share = value === null || most <= 0 ? 0 : value / most;
    return (
      <span class="compare-track">
        <span
          class={`compare-bar ${side} ${side === "after" ? over : ""}`}
          data-side={side}
          style={{ inlineSize: `${share * 100}%` }}
        />
      </span>
    );
  };
  return (
    <div class="compare-pair" data-metric={metric.name} title={sourceText(metricSource(metric))}>
      <span class="small">{metricName(metric)}</span>
      <span>
        {bar("before")}
        {bar("after")}
      </span>
    </div>
  );
}

function columnsOf(over: ReadonlyMap<string, Passed> | undefined): Column<Metric>[] {
  return [
    {
      label: "Figure",
      cell: (row) => (
        <>
          {metricName(row)} <PassedPill passed={over?.get(row.name)} />
        </>
      ),
      key: metricName,
    },
    {
      label: "Before",
      number: true,
      cell: (row) => formatMetric(row, row.before),
      key: (row) => row.before,
    },
    {
      label: "After",
      number: true,
      cell: (row) => formatMetric(row, row.after),
      key: (row) => row.after,
    },
    { label: "Change", number: true, cell: formatRatio, key: ratioOf, text: formatRatio },
    {
      label: "From",
      cell: (row) => (
        <span class="muted" title={sourceText(metricSource(row))}>
          {metricSource(row)}
        </span>
      ),
      key: metricSource,
    },
  ];
}

export function PassedPill({ passed }: { passed: Passed | undefined }) {
  if (!passed) return null;
  return <Pill kind={passed === "slower" ? "error" : "fine"}>{passed}, over the threshold</Pill>;
}

const NAMES: Readonly<Record<string, string>> = {
  host_ns: "launching, host time",
  host_median_ns: "launch, median host time",
  device_ns: "device time",
  device_median_ns: "device time, median",
  compile_ns: "compiling",
  bytes: "bytes accessed",
  flops: "FLOPs",
  shared_bytes: "shared memory",
};

const RESOURCES: ReadonlySet<string> = new Set(["registers", "spills", "shared_bytes"]);

export function metricName({ name }: Metric): string {
  return NAMES[name] ?? name;
}

export function metricSource({ name, measured }: Metric): Source {
  if (RESOURCES.has(name)) return "compiler";
  return measured ? "measured" : "derived";
}

export function formatMetric({ name, unit }: Metric, value: number | null): string {
  if (unit === "ns") return formatNanoseconds(value);
  if (unit === "bytes") return formatBytes(value);
  return name === "flops" ? formatFlops(value) : formatCount(value);
}

/** "+12 %", "×3.2"; "–" where a side is not known or BEFORE is zero. */
export function formatRatio({ before, after }: Metric): string {
  if (before === null || after === null || (!before && after)) return UNKNOWN;
  if (before === after) return "same";
  const ratio = after / before;
  if (ratio >= 2 || (ratio > 0 && ratio <= 0.5)) return `× ${threeFigures(ratio)}`;
  return `${ratio > 1 ? "+" : "−"}${threeFigures(Math.abs(ratio - 1) * 100)} %`;
}

/** How far off it is: for sorting. */
export function ratioOf({ before, after }: Metric): number | null {
  return before === null || after === null || !before ? null : after / before;
}
