// All graphs of the page.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";

import { go, href } from "../../app/router";
import { formatBytes, formatCount, formatFlops, formatPlace } from "../../data/format";
import type { Page } from "../../data/page";
import { type Column, Table } from "../../parts/table";
import { DroppedNotes, Swatch, kernelName } from "../../parts/text";
import { graphVariants } from "./blocks";

export function GraphList({ page }: { page: Page }): JSX.Element {
  const { report } = page;
  const rows = useMemo(() => graphVariants(page), [page]);
  const option = (name: string) => (variant: number) => {
    const value = report.variants[variant]?.options[name];
    return value === undefined ? null : Number(value);
  };
  const kernel = (variant: number): number => report.variants[variant]?.kernel ?? -1;
  const figure = (label: string, title: string, name: string, shown: (value: number | null) => string): Column<number> => ({
    label,
    title,
    source: "derived",
    number: true,
    cell: (variant) => shown(option(name)(variant)),
    key: option(name),
  });
  const columns: readonly Column<number>[] = [
    {
      label: "Graph",
      cell: (variant) => (
        <span class="kernel-name">
          <Swatch kernel={kernel(variant)} />
          <a href={href(`graph/${variant}`)}>{kernelName(report, kernel(variant))}</a>
          {report.kernels[kernel(variant)]?.variants.length === 1 ? null : <span class="muted">signature {variant}</span>}
        </span>
      ),
      key: (variant) => kernelName(report, kernel(variant)),
    },
    { label: "ops", title: "Ops that were recorded while it was traced", source: "measured", number: true, cell: (variant) => formatCount(option("graph_ops")(variant)), key: option("graph_ops") },
    figure("FLOPs", "Floating-point operations of one run", "graph_flops", formatFlops),
    figure("in and out", "Bytes of inputs and outputs: the least that any compiler can move", "graph_boundary_bytes", formatBytes),
    figure("op by op", "Bytes that its ops move, each by itself", "graph_bytes", formatBytes),
    figure("peak live", "The most memory that is live at once", "graph_peak_live_bytes", formatBytes),
    { label: "launches", source: "measured", number: true, cell: (variant) => formatCount(report.variants[variant]?.launches), key: (variant) => report.variants[variant]?.launches ?? null },
    { label: "Source", cell: (variant) => placeOf(page, kernel(variant)), key: (variant) => placeOf(page, kernel(variant)) },
  ];
  return (
    <>
      <h1>Tensor graphs</h1>
      <DroppedNotes page={page} />
      <Table id="graphs" caption="Traced NumPy functions" columns={columns} rows={rows} onChoose={(variant) => go(`graph/${variant}`)} />
    </>
  );
}

function placeOf({ report }: Page, kernel: number): string {
  const own = report.kernels[kernel];
  return formatPlace(own?.file, own?.line);
}
