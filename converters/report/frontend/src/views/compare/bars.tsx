// Figures as pairs: two bars for each, and the table that says the same.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";

import { type Column, Table } from "../../parts/table";
import { Pill, sourceText } from "../../parts/text";
import type { Metric } from "./blocks";
import { formatMetric, formatRatio, metricName, metricSource, ratioOf } from "./metrics";

/** Which way a figure passed the threshold. */
export type Passed = "slower" | "faster";

interface PairsProps {
  readonly id: string;
  readonly caption: string;
  readonly metrics: readonly Metric[];
  /** Figures that passed a threshold, by name. */
  readonly over?: ReadonlyMap<string, Passed>;
}

export function Pairs(props: PairsProps): JSX.Element | null {
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
function Bars({ metric, over }: { metric: Metric; over: Passed | "" }): JSX.Element {
  const most = Math.max(metric.before ?? 0, metric.after ?? 0);
  const bar = (side: "before" | "after"): JSX.Element => {
    const value = metric[side];
    const share = value === null || most <= 0 ? 0 : value / most;
    return (
      <span class="compare-track">
        <span class={`compare-bar ${side} ${side === "after" ? over : ""}`} data-side={side} style={{ inlineSize: `${share * 100}%` }} />
      </span>
    );
  };
  return (
    <div class="compare-pair" data-metric={metric.name} title={sourceText(metricSource(metric))}>
      <span class="small">{metricName(metric)}</span>
      <span>{bar("before")}{bar("after")}</span>
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
    { label: "Before", number: true, cell: (row) => formatMetric(row, row.before), key: (row) => row.before },
    { label: "After", number: true, cell: (row) => formatMetric(row, row.after), key: (row) => row.after },
    { label: "Change", number: true, cell: formatRatio, key: ratioOf, text: formatRatio },
    {
      label: "From",
      cell: (row) => <span class="muted" title={sourceText(metricSource(row))}>{metricSource(row)}</span>,
      key: metricSource,
    },
  ];
}

export function PassedPill({ passed }: { passed: Passed | undefined }): JSX.Element | null {
  if (!passed) return null;
  return <Pill kind={passed === "slower" ? "error" : "fine"}>{passed}, over the threshold</Pill>;
}
