// The variants that a kernel was compiled to, and what made the compiler run again for each.

import { address, go, href } from "../../app/router";
import { formatCount, formatNanoseconds, shortText } from "../../data/format";
import { page } from "../../data/page";
import type { Change, Variant } from "../../data/types";
import { code, fieldsOf, figure, sharedFigure, words } from "../../parts/columns";
import { type Column, Table } from "../../parts/table";
import { Note, Pill } from "../../parts/text";
import { HOST_TIME } from "../../parts/work_figures";

const MOST_CHANGES = 4;

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
      label: "Compiled because",
      prose: true,
      title: "Differences from the most similar variant that the run compiled before",
      cell: (index) => <Reason variant={of(index)} />,
      text: (index) => reasonText(of(index)),
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

function Reason({ variant }: { variant: Variant }) {
  if (!variant.recompiled) return <span class="muted">first of its run</span>;
  return (
    <>
      {reasonText(variant)}{" "}
      <span class="muted">(nearest: {variantName(variant.recompiled.nearest)})</span>
    </>
  );
}

function reasonText({ recompiled, cache_hit, compile_ns }: Variant): string {
  if (!recompiled) return "first of its run";
  const { changes } = recompiled;
  const loaded = cache_hit === true || compile_ns === null;
  if (!changes.length && loaded) return "loaded from the cache (not a recompile)";
  if (!changes.length) return "no difference was recorded";
  const shown = changes.slice(0, MOST_CHANGES).map(changeText).join("; ");
  const rest = changes.length - MOST_CHANGES;
  return rest > 0 ? `${shown}; ${formatCount(rest)} more` : shown;
}

function changeText({ what, before, after }: Change): string {
  return `${shortText(what, 80)}: ${shortText(before ?? "none", 40)} → ${shortText(after ?? "none", 40)}`;
}

/** All that differs from the nearest earlier variant, and how long this one took to compile or load. */
export function Recompile({ variant }: { variant: Variant }) {
  const { recompiled } = variant;
  if (!recompiled) {
    return (
      <Note>The first variant of this kernel in its run: nothing was compiled before it.</Note>
    );
  }
  const took = formatNanoseconds(variant.compile_ns);
  return (
    <>
      <p id="recompile">
        Compiled again for {took}, because of what differs from{" "}
        <a href={chosenHref(variant.kernel, recompiled.nearest)}>
          variant {variantName(recompiled.nearest)}
        </a>
        , the nearest that the run had by then.{" "}
        {variant.cache_hit ? <Pill kind="fine">from the disk cache</Pill> : null}
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
