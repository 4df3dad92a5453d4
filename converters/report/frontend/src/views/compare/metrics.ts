// Figures of two sides as people read them.

import { UNKNOWN, formatBytes, formatCount, formatFlops, formatNanoseconds, threeFigures } from "../../data/format";
import type { Source } from "../../parts/text";
import type { Metric } from "./blocks";

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
