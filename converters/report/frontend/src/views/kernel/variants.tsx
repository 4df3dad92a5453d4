// The variants that a kernel was compiled to, and what made the compiler run again for each.

import { address, go, href } from "../../app/router";
import { formatNanoseconds, shortText } from "../../data/format";
import { page } from "../../data/page";
import type { Change, Variant } from "../../data/types";
import { code, fieldsOf, figure, sharedFigure, words } from "../../parts/columns";
import { type Column, Table } from "../../parts/table";
import { Name, Note } from "../../parts/text";
import { HOST_TIME } from "../../parts/work_figures";

export function VariantTable({ kernel, chosen }: { kernel: number; chosen: number }) {
  const { report } = page;
  const rows = report.kernels[kernel]?.variants ?? [];
  const of = (index: number): Variant => report.variants[index] as Variant;
  const most = Math.max(1, ...rows.map((index) => of(index).compile_ns ?? 0));
  const field = fieldsOf(of);
  const columns: (Column<number> | false)[] = [
    {
      ...words("Variant", (index) => variantName(index), { key: (index: number) => index }),
      cell: (index) => <a href={chosenHref(kernel, index)}>{variantName(index)}</a>,
    },
    {
      label: "Reason",
      prose: true,
      title: "Differences from the most similar variant that the run compiled before",
      cell: (index) => <Reason variant={of(index)} />,
      text: (index) => of(index).reason,
    },
    sharedFigure(
      "compile",
      "measured",
      (index) => of(index).compile_ns,
      most,
      "ns",
      "Time from the start of the compilation to its end, all stages",
    ),
    words("Disk cache", (index) => CACHE.get(of(index).cache_hit)),
    field("launches", "measured", "launches"),
    field("calls", "measured", "calls", "count", "Distinct combinations of grid and arguments"),
    figure("host time", "measured", (index) => of(index).host_ns || null, "ns", HOST_TIME),
    field("warps", "compiler", "num_warps"),
    field("registers", "compiler", "registers", "count", "Of a thread"),
    field("spills", "compiler", "spills", "count", "32-bit words of local memory of a thread"),
    field("shared", "compiler", "shared_bytes", "bytes", "Shared memory of a program"),
    figure("occupancy", "derived", (index) => occupied(of(index)), "share", OCCUPANCY),
  ];
  return (
    <Table
      id="variants"
      caption="Variants of the kernel"
      columns={columns}
      rows={rows}
      chosen={chosen}
      height={12}
      onChoose={(index) => go(`kernel/${kernel}/variant/${index}`, kept())}
    />
  );
}

/** What is kept when another variant is chosen: not the lines of this one's compiled code. */
function kept(): Record<string, string | null> {
  return { ...Object.fromEntries(address.value.query), ir: null, beside: null };
}

function chosenHref(kernel: number, variant: number): string {
  return href(`kernel/${kernel}/variant/${variant}`, kept());
}

/** "3", and whose run where there are several. */
export function variantName(index: number): string {
  const { report } = page;
  const variant = report.variants[index];
  if (!variant) return "–";
  const run = report.runs.length > 1 ? `, ${shortText(report.runs[variant.run]?.label, 40)}` : "";
  return `${variant.kernel_id}${run}`;
}

const CACHE: ReadonlyMap<boolean | null, string> = new Map([
  [true, "hit"],
  [false, "miss"],
]);
const OCCUPANCY = "Warps on a multiprocessor at once, divided by the most it can hold";

export function occupied(variant: Variant | undefined): number | null {
  return variant?.occupancy ? variant.occupancy.warps / variant.occupancy.of : null;
}

/** How a further variant came about, by whether it was compiled again; null: not recorded. */
const HOW = new Map([
  [true, "compiled again"],
  [false, "from the cache"],
  [null, "compiled or loaded"],
]);

function Reason({ variant: { reason, recompiled } }: { variant: Variant }) {
  if (!recompiled) return <span class="muted">{reason}</span>;
  return (
    <>
      <Name of={reason} />{" "}
      <span class="muted">
        ({HOW.get(recompiled.again)}; nearest: {variantName(recompiled.nearest)})
      </span>
    </>
  );
}

/** All that differs from the nearest earlier variant, and how long this one took to compile or load. */
export function Recompile({ variant }: { variant: Variant }) {
  const { recompiled } = variant;
  if (!recompiled) {
    return (
      <Note>The first variant of this kernel in its run: nothing was compiled before it.</Note>
    );
  }
  return (
    <>
      <p id="recompile">
        {recompiled.again
          ? `Compiled again for ${formatNanoseconds(variant.compile_ns)}`
          : recompiled.again === null
            ? "Whether it was compiled or loaded was not recorded"
            : "Loaded from the cache"}
        . Its differences from{" "}
        <a href={chosenHref(variant.kernel, recompiled.nearest)}>
          variant {variantName(recompiled.nearest)}
        </a>
        , the most similar one that the run had by then:
      </p>
      <ChangeTable changes={recompiled.changes} />
    </>
  );
}

const CHANGE_COLUMNS: readonly Column<Change>[] = [
  words("What", ({ what }) => what),
  code("Before", ({ before }) => before ?? "none", { limit: 120 }),
  code("This variant", ({ after }) => after ?? "none", { limit: 120 }),
];

function ChangeTable({ changes }: { changes: readonly Change[] }) {
  return (
    <Table
      caption="Differences from the most similar earlier variant"
      columns={CHANGE_COLUMNS}
      rows={changes}
      empty="No difference was recorded: options or environment may differ in ways that kvtrace does not record."
    />
  );
}
