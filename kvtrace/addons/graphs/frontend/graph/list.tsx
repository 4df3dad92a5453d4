// All graphs of the page.

import { useMemo } from "preact/hooks";
import { go, href } from "@report/app/router";
import type { Format } from "@report/data/format";
import { formatPlace } from "@report/data/format";
import { page } from "@report/data/page";
import { figure, words } from "@report/parts/columns";
import { type Column, Table } from "@report/parts/table";
import type { Source } from "@report/parts/text";
import { DroppedNotes, kernelName, Name, Swatch } from "@report/parts/text";
import { graphVariants } from "./blocks";

export const IN_AND_OUT = "Bytes of inputs and outputs: the least that any compiler can move";

export function GraphList() {
  const { report } = page;
  const rows = useMemo(() => graphVariants(), []);
  const option = (label: string, source: Source, name: string, as: Format, title: string) => {
    const read = (variant: number) => report.variants[variant]?.options[`graph_${name}`] ?? null;
    const value = (variant: number) => (read(variant) === null ? null : Number(read(variant)));
    return figure<number>(label, source, value, as, title);
  };
  const kernel = (variant: number): number => report.variants[variant]?.kernel ?? -1;
  const columns: readonly Column<number>[] = [
    {
      label: "Graph",
      cell: (variant) => (
        <span class="kernel-name">
          <Swatch kernel={kernel(variant)} />
          <a href={href(`graph/${variant}`)}>
            <Name of={kernelName(kernel(variant))} />
          </a>
          {report.kernels[kernel(variant)]?.variants.length === 1 ? null : (
            <span class="muted">signature {variant}</span>
          )}
        </span>
      ),
      key: (variant) => kernelName(kernel(variant)),
    },
    option("ops", "measured", "ops", "count", "Recorded while it was traced"),
    option("FLOPs", "derived", "flops", "flops", "Floating-point operations of one run"),
    option("bytes in and out", "derived", "boundary_bytes", "bytes", IN_AND_OUT),
    option(
      "bytes without fusion",
      "derived",
      "bytes",
      "bytes",
      "Bytes that its ops move, each by itself",
    ),
    option("peak live", "derived", "peak_live_bytes", "bytes", "The most that is live at once"),
    figure("launches", "measured", (variant) => report.variants[variant]?.launches ?? null),
    words("Source", (variant) => {
      const own = report.kernels[kernel(variant)];
      return formatPlace(own?.file, own?.line);
    }),
  ];
  return (
    <>
      <h1>Tensor graphs</h1>
      <DroppedNotes />
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
