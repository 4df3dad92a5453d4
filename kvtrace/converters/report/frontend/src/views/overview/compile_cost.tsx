// What compiling took, by variant and stage.

import { useMemo } from "preact/hooks";
import { formatCount, formatNanoseconds, plural, shortText, UNKNOWN } from "../../data/format";
import type { Page } from "../../data/page";
import type { Change, Variant } from "../../data/types";
import { figure, words } from "../../parts/columns";
import { type Column, Table } from "../../parts/table";
import { Note, VariantLink } from "../../parts/text";

const MOST_CHANGES = 3;

export function CompileCost({ page }: { page: Page }) {
  const { variants, totals, kernels } = page.report;
  const timed = useMemo(
    () => variants.map((_, index) => index).filter((index) => variants[index]?.compile_ns),
    [variants],
  );
  if (!timed.length) return <Note>No compilation was recorded.</Note>;
  const stages = Object.entries(totals.stages);
  const hits = variants.filter((variant) => variant.cache_hit).length;
  const spent = stages.map(([name, time]) => `${name} ${formatNanoseconds(time)}`).join(", ");
  const columns: Column<number>[] = [
    {
      label: "Variant",
      cell: (index) => <VariantLink page={page} variant={index} />,
      key: (index) => kernels[variants[index]?.kernel ?? -1]?.name,
    },
    figure("in all", "measured", (index) => variants[index]?.compile_ns, "ns"),
    ...stages.map(([name]): Column<number> =>
      figure(name, "measured", (index) => stageTime(variants[index], name), "ns"),
    ),
    words("Compiled because", (index) => reason(variants[index]), {
      title: "What differs from the nearest variant that the run had compiled before",
      prose: true,
    }),
    words("Disk cache", (index) => cacheText(variants[index])),
  ];
  return (
    <>
      <p>
        {plural(variants.length, "variant")}, {formatCount(hits)} from the compiler's cache on disk;{" "}
        {formatNanoseconds(totals.compile_ns)} in all{spent ? `; by stage: ${spent}` : ""}.
      </p>
      <Table
        caption="Compile time of each variant"
        columns={columns}
        rows={timed}
        sort="in all"
        height={10}
      />
    </>
  );
}

function stageTime(variant: Variant | undefined, name: string): number | null {
  return variant?.stages.find((stage) => stage.stage === name)?.duration_ns ?? null;
}

function reason(variant: Variant | undefined): string {
  if (!variant) return "";
  if (!variant.recompiled) return "first variant";
  const changes = variant.recompiled.changes;
  const shown = changes.slice(0, MOST_CHANGES).map(changeText).join(", ");
  const rest = changes.length - MOST_CHANGES;
  if (!changes.length) return "no difference was recorded";
  return rest > 0 ? `${shown} and ${formatCount(rest)} more` : shown;
}

function changeText({ what, before, after }: Change): string {
  return `${what} ${shortText(before ?? "none", 40)} → ${shortText(after ?? "none", 40)}`;
}

function cacheText(variant: Variant | undefined): string {
  const hit = variant?.cache_hit ?? null;
  return hit === null ? UNKNOWN : hit ? "hit" : "miss";
}
