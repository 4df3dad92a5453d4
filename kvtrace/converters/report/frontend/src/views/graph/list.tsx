// All graphs of the page.

import { useMemo } from "preact/hooks";
import { go, href } from "../../app/router";
import { formatPlace } from "../../data/format";
import type { Page } from "../../data/page";
import { figure, words } from "../../parts/columns";
import { type Column, Table } from "../../parts/table";
import { DroppedNotes, kernelName, Swatch } from "../../parts/text";
import { graphVariants } from "./blocks";

export function GraphList({ page }: { page: Page }) {
  const { report } = page;
  const rows = useMemo(() => graphVariants(page), [page]);
  const option = (name: string) => (variant: number) => {
    const value = report.variants[variant]?.options[name];
    return value === undefined ? null : Number(value);
  };
  const kernel = (variant: number): number => report.variants[variant]?.kernel ?? -1;
  const columns: readonly Column<number>[] = [
    {
      label: "Graph",
      cell: (variant) => (
        <span class="kernel-name">
          <Swatch kernel={kernel(variant)} />
          <a href={href(`graph/${variant}`)}>{kernelName(report, kernel(variant))}</a>
          {report.kernels[kernel(variant)]?.variants.length === 1 ? null : (
            <span class="muted">signature {variant}</span>
          )}
        </span>
      ),
      key: (variant) => kernelName(report, kernel(variant)),
    },
    figure(
      "ops",
      "measured",
      option("graph_ops"),
      "count",
      "Ops that were recorded while it was traced",
    ),
    figure(
      "FLOPs",
      "derived",
      option("graph_flops"),
      "flops",
      "Floating-point operations of one run",
    ),
    figure(
      "in and out",
      "derived",
      option("graph_boundary_bytes"),
      "bytes",
      "Bytes of inputs and outputs: the least that any compiler can move",
    ),
    figure(
      "op by op",
      "derived",
      option("graph_bytes"),
      "bytes",
      "Bytes that its ops move, each by itself",
    ),
    figure(
      "peak live",
      "derived",
      option("graph_peak_live_bytes"),
      "bytes",
      "The most memory that is live at once",
    ),
    figure("launches", "measured", (variant) => report.variants[variant]?.launches ?? null),
    words("Source", (variant) => placeOf(page, kernel(variant))),
  ];
  return (
    <>
      <h1>Tensor graphs</h1>
      <DroppedNotes page={page} />
      <Table
        id="graphs"
        caption="Traced NumPy functions"
        columns={columns}
        rows={rows}
        onChoose={(variant) => go(`graph/${variant}`)}
      />
    </>
  );
}

function placeOf({ report }: Page, kernel: number): string {
  const own = report.kernels[kernel];
  return formatPlace(own?.file, own?.line);
}
