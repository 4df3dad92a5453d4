// How long a variant's compilation took, stage by stage.

import { useMemo } from "preact/hooks";
import { address, href } from "../../app/router";
import { formatMoment, formatNanoseconds, shortText } from "../../data/format";
import { page } from "../../data/page";
import type { Variant } from "../../data/types";
import { figure, sharedFigure, words } from "../../parts/columns";
import { Value } from "../../parts/figure";
import { Table } from "../../parts/table";
import { Facts, Note, Pill } from "../../parts/text";
import { shownStages, stageTitle } from "./state";

interface Step {
  readonly name: string;
  readonly title: string;
  readonly duration: number | null;
  readonly size: number | null;
  /** Whether what it made is among the code that is shown. */
  readonly text: boolean;
}

export function Pipeline({ variant }: { variant: Variant }) {
  const steps = useMemo(() => stepsOf(variant), [variant]);
  const triton = page.report.runs[variant.run]?.versions["triton"];
  const whole = steps.reduce((sum, step) => sum + (step.duration ?? 0), 0);
  if (!steps.length && variant.compile_ns === null)
    return <Note>No compilation of this variant was recorded.</Note>;
  const began = variant.compile_begin;
  return (
    <>
      {whole ? null : (
        <Note>
          No stage was timed{variant.cache_hit ? ": all came from the compiler's cache." : "."}
        </Note>
      )}
      <Facts
        entries={[
          ["It took", <Time value={variant.compile_ns} />],
          ["Began", began === null ? null : `${formatMoment(began)} into the trace`],
          ["Disk cache", <CachePill variant={variant} />],
          ["Module load", <Time value={variant.load_ns} />],
          ["Compiled by", triton ? `triton ${shortText(triton, 40)}` : null],
        ]}
      />
      <Table<Step>
        id="stages"
        caption="Stages of the compilation"
        columns={[
          {
            ...words("Stage", (step) => step.title),
            cell: ({ name, title, text }) => (text ? <a href={stageHref(name)}>{title}</a> : title),
          },
          sharedFigure("duration", "measured", (step) => step.duration, whole || 1, "ns"),
          figure("share", null, (step) => whole && (step.duration ?? 0) / whole, "share"),
          figure("text", null, (step) => step.size, "bytes", "Size of the stage's output"),
        ]}
        rows={steps}
        empty="No stage was recorded."
      />
    </>
  );
}

function Time({ value }: { value: number | null }) {
  if (value === null) return <span class="muted">not recorded</span>;
  return <Value source="measured">{formatNanoseconds(value)}</Value>;
}

function CachePill({ variant: { cache_hit: hit } }: { variant: Variant }) {
  if (hit === null) return <span class="muted">not recorded</span>;
  return hit ? <Pill kind="fine">hit</Pill> : <Pill kind="plain">miss: compiled</Pill>;
}

function stageHref(stage: string): string {
  const { path, query } = address.value;
  return href(path.slice(1), { ...Object.fromEntries(query), stage, ir: null });
}

/** The stages in the compiler's order, what of the whole none of them accounts for, the load. */
function stepsOf(variant: Variant): Step[] {
  const shown = shownStages(variant);
  const steps = variant.stages.map((stage): Step => ({
    name: stage.stage,
    title: stageTitle(stage.stage).replaceAll("_", " "),
    duration: stage.duration_ns,
    size: stage.size_bytes,
    text: shown.includes(stage),
  }));
  const known = steps.reduce((sum, step) => sum + (step.duration ?? 0), 0);
  const rest = (variant.compile_ns ?? 0) - known;
  const more = { size: null, text: false };
  if (known && rest > 0) steps.push({ name: "(rest)", title: "rest", duration: rest, ...more });
  const { load_ns: load } = variant;
  if (load !== null) steps.push({ name: "(load)", title: "module load", duration: load, ...more });
  return steps;
}
