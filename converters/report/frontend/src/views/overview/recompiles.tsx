// Kernels that were compiled again, and because of what; Python says which count.

import { useMemo } from "preact/hooks";
import { shortText } from "../../data/format";
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

export function Recompiles() {
  const { report } = page;
  const { kernels, variants } = report;
  const rows = useMemo(
    () =>
      kernels
        .map(({ variants: own }, kernel): Row => {
          const again = own
            .flatMap((index) => variants[index] ?? [])
            .filter(({ recompiled }) => recompiled?.again);
          const names = again.flatMap((v) => v.recompiled?.changes.map(({ what }) => what) ?? []);
          const ns = again.reduce((sum, variant) => sum + (variant.compile_ns ?? 0), 0);
          const because = shortText([...new Set(names)].slice(0, 6).join(", "), 160);
          return { kernel, times: again.length, ns, because };
        })
        .filter(({ times }) => times)
        .sort((a, b) => b.ns - a.ns),
    [kernels, variants],
  );
  return (
    <Section title="Recompiles" id="recompiles">
      <p>{report.recompiles}.</p>
      {rows.length ? (
        <Table caption="Recompiles" columns={COLUMNS} rows={rows} sort="compile" height={5} />
      ) : null}
    </Section>
  );
}
