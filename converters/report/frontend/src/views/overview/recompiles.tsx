// Kernels that were compiled more than once, and because of what.

import { useMemo } from "preact/hooks";
import { plural, shortText } from "../../data/format";
import type { Variant } from "../../data/model";
import { page } from "../../data/page";
import { figure, words } from "../../parts/columns";
import { type Column, Table } from "../../parts/table";
import { KernelLink, Section } from "../../parts/text";

interface Row {
  readonly kernel: number;
  readonly times: number;
  readonly ns: number;
  readonly because: string;
}

const COLUMNS: readonly Column<Row>[] = [
  {
    label: "Kernel",
    cell: ({ kernel }) => <KernelLink kernel={kernel} />,
    key: ({ kernel }) => page.report.kernels[kernel]?.name,
  },
  figure(
    "again",
    "measured",
    ({ times }) => times,
    "count",
    "Compiled variants besides the first of each run",
  ),
  figure("compile", "measured", ({ ns }) => ns, "ns", "Of those"),
  words("Because of", ({ because }) => because, { prose: true }),
];

/** Whether its process compiled it, after another variant: a load from a cache is not a recompile. */
function wasRecompiled({ recompiled, cache_hit, compile_ns }: Variant): boolean {
  return recompiled !== null && !cache_hit && compile_ns !== null;
}

export function Recompiles() {
  const { kernels, variants } = page.report;
  const rows = useMemo(
    () =>
      kernels
        .map(({ variants: own }, kernel): Row => {
          const again = own.flatMap((index) => variants[index] ?? []).filter(wasRecompiled);
          const names = again.flatMap((v) => v.recompiled?.changes.map(({ what }) => what) ?? []);
          const ns = again.reduce((sum, variant) => sum + (variant.compile_ns ?? 0), 0);
          const because = shortText([...new Set(names)].slice(0, 6).join(", "), 160);
          return { kernel, times: again.length, ns, because };
        })
        .filter(({ times }) => times)
        .sort((a, b) => b.ns - a.ns),
    [kernels, variants],
  );
  const several = kernels.filter(({ variants: own }) => own.length > 1).length;
  const times = rows.reduce((sum, row) => sum + row.times, 0);
  return (
    <Section title="Recompiles" id="recompiles">
      {rows.length ? (
        <>
          <p>
            {plural(rows.length, "kernel")} compiled again, {plural(times, "time")} in all.
          </p>
          <Table caption="Recompiles" columns={COLUMNS} rows={rows} sort="compile" height={5} />
        </>
      ) : (
        <p class="muted">
          No kernel was compiled more than once
          {several
            ? `; ${plural(several, "kernel")} with several variants loaded the others from a cache`
            : ""}
          .
        </p>
      )}
    </Section>
  );
}
