// How much of a memory is in use over the ops, against what there is.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";

import { formatBytes, formatCount, threeFigures } from "../../data/format";
import { WithTable } from "../../parts/beside";
import { themeColours } from "../../parts/colours";
import { Curve, type Series } from "../../parts/curve";
import { type Column, Table } from "../../parts/table";
import { SPACES, type Usage } from "./blocks";
import { amountText } from "./memory_map";

export function UsageCurve({ usage, executed }: { usage: Usage; executed: number }): JSX.Element {
  const name = SPACES[usage.space] ?? usage.space;
  const x = useMemo(() => [0, ...usage.orders.filter((order) => order > 0), executed], [usage, executed]);
  const series = useMemo((): readonly Series[] => {
    const first = usage.orders[0] === 0 ? [] : [0];
    const amounts = [...first, ...usage.amounts, usage.amounts.at(-1) ?? 0];
    return [
      { label: `${name} in use (derived)`, kind: "steps", values: amounts.slice(0, x.length) },
      { label: "limit", kind: "line", dashed: true, colour: themeColours().error, values: x.map(() => usage.limit) },
    ];
  }, [usage, x]);
  const rows = useMemo(() => usage.orders.map((_, place) => place), [usage]);
  const columns: readonly Column<number>[] = [
    { label: "From op", number: true, cell: (place) => formatCount(usage.orders[place]), key: (place) => usage.orders[place] ?? null },
    { label: "In use", source: "derived", number: true, cell: (place) => amountText(usage, usage.amounts[place] ?? 0), key: (place) => usage.amounts[place] ?? null },
    {
      label: "Of the limit",
      source: "derived",
      number: true,
      cell: (place) => `${threeFigures((100 * (usage.amounts[place] ?? 0)) / usage.limit)} %`,
      key: (place) => usage.amounts[place] ?? null,
    },
  ];
  return (
    <div class="onchip-curve" data-space={usage.space}>
      <WithTable
        name={`${name} in use`}
        canvas={
          <Curve
            label={`${name} in use over the ops, ${amountText(usage, usage.peak)} at most, and the limit, ${amountText(usage, usage.limit)} a partition`}
            x={x}
            series={series}
            xLabel="executed op"
            yLabel={`${usage.unit} a partition`}
            formatX={(value) => (Number.isInteger(value) ? formatCount(value) : "")}
            formatY={(value) => (usage.space === "sbuf" ? formatBytes(value) : threeFigures(value))}
            height={180}
          />
        }
        table={() => <Table caption={`${name} in use, by op`} columns={columns} rows={rows} height={8} />}
      />
    </div>
  );
}
