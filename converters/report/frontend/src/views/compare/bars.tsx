// Figures as pairs: two bars for each, and the table that says the same.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";

import { type Column, Table } from "../../parts/table";
import { sourceText } from "../../parts/text";
import type { Metric } from "./blocks";
import { formatMetric, formatRatio, metricName, metricSource, ratioOf } from "./metrics";

interface PairsProps {
  readonly id: string;
  readonly caption: string;
  readonly metrics: readonly Metric[];
  /** Names of figures that passed a threshold. */
  readonly over?: ReadonlySet<string>;
}

export function Pairs(props: PairsProps): JSX.Element | null {
  const { metrics, over } = props;
  const columns = useMemo(() => columnsOf(over), [over]);
  if (!metrics.length) return null;
  return (
    <div class="compare-pairs" id={props.id}>
      <div class="compare-bars" aria-hidden="true">
        {metrics.map((metric) => (
          <Bars key={metric.name} metric={metric} over={over?.has(metric.name) ?? false} />
        ))}
      </div>
      <Table caption={props.caption} columns={columns} rows={metrics} />
    </div>
  );
}

/** Both bars of a figure; the longer one is as long as there is room. */
function Bars({ metric, over }: { metric: Metric; over: boolean }): JSX.Element {
  const most = Math.max(metric.before ?? 0, metric.after ?? 0);
  const bar = (side: "before" | "after"): JSX.Element => {
    const value = metric[side];
    const share = value === null || most <= 0 ? 0 : value / most;
    return (
      <span class="compare-track">
        <span class={`compare-bar ${side}${over ? " over" : ""}`} data-side={side} style={{ inlineSize: `${share * 100}%` }} />
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

function columnsOf(over: ReadonlySet<string> | undefined): Column<Metric>[] {
  return [
    {
      label: "Figure",
      cell: (row) => (
        <>
          {metricName(row)} {over?.has(row.name) ? <span class="pill error">over the threshold</span> : null}
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
