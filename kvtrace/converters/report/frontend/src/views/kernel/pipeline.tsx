// How long a variant's compilation took: a bar of its stages, and a table of them beside it.

import type { CSSProperties } from "preact";
import { useMemo } from "preact/hooks";
import { address, href } from "../../app/router";
import { formatMoment, formatNanoseconds, formatShare, plural, shortText } from "../../data/format";
import type { Page } from "../../data/page";
import type { Variant } from "../../data/types";
import { Split } from "../../parts/beside";
import { kernelHue } from "../../parts/colours";
import { figure } from "../../parts/columns";
import { Value } from "../../parts/figure";
import { type Column, Table } from "../../parts/table";
import { Facts, Note, Pill } from "../../parts/text";
import type { Load } from "./blocks";
import { shownStages, stageTitle } from "./state";

interface Step {
  readonly name: string;
  readonly title: string;
  readonly duration: number | null;
  readonly size: number | null;
  readonly hue: number | null;
  /** Whether what it made is among the code that is shown. */
  readonly text: boolean;
}

interface PipelineProps {
  readonly page: Page;
  readonly variant: Variant;
  readonly load: Load | null;
}

export function Pipeline({ page, variant, load }: PipelineProps) {
  const steps = useMemo(() => stepsOf(variant, load), [variant, load]);
  const triton = page.report.runs[variant.run]?.versions["triton"];
  const timed = steps.filter((step) => step.duration);
  const whole = timed.reduce((sum, step) => sum + (step.duration ?? 0), 0);
  if (!steps.length && variant.compile_ns === null) {
    return <Note>No compilation of this variant was recorded.</Note>;
  }
  const columns: Column<Step>[] = [
    {
      label: "Stage",
      cell: (step) => (
        <span class="kernel-stage">
          <span
            class={step.hue === null ? "swatch rest" : "swatch"}
            aria-hidden="true"
            style={hueStyle(step)}
          />
          {step.text ? <a href={stageHref(step.name)}>{step.title}</a> : step.title}
        </span>
      ),
      text: (step) => step.title,
    },
    figure("duration", "measured", (step) => step.duration, "ns"),
    figure(
      "share",
      null,
      (step) => step.duration,
      (value) => formatShare(value, whole),
    ),
    figure("text", null, (step) => step.size, "bytes", "Size of what the stage made"),
  ];
  return (
    <Split
      left={
        <>
          {timed.length ? (
            <Bar steps={timed} whole={whole} />
          ) : (
            <Note>
              No stage was timed{variant.cache_hit ? ": all came from the compiler's cache." : "."}
            </Note>
          )}
          <Facts
            entries={[
              ["It took", <Time value={variant.compile_ns} />],
              [
                "Began",
                variant.compile_begin === null
                  ? null
                  : `${formatMoment(variant.compile_begin)} into the trace`,
              ],
              ["Disk cache", <CachePill variant={variant} />],
              ["Module load", <Time value={load?.duration_ns ?? null} />],
              ["Compiled by", triton ? `triton ${shortText(triton, 40)}` : null],
            ]}
          />
        </>
      }
      right={
        <Table
          id="stages"
          caption="Stages of the compilation"
          columns={columns}
          rows={steps}
          empty="No stage was recorded."
        />
      }
    />
  );
}

function Time({ value }: { value: number | null }) {
  if (value === null) return <span class="muted">not recorded</span>;
  return <Value source="measured">{formatNanoseconds(value)}</Value>;
}

function CachePill({ variant }: { variant: Variant }) {
  if (variant.cache_hit === null) return <span class="muted">not recorded</span>;
  return variant.cache_hit ? (
    <Pill kind="fine">hit</Pill>
  ) : (
    <Pill kind="plain">miss: it was compiled</Pill>
  );
}

function Bar({ steps, whole }: { steps: readonly Step[]; whole: number }) {
  const said = steps.map((step) => `${step.title} ${formatNanoseconds(step.duration)}`).join(", ");
  return (
    <div
      class="kernel-bar"
      id="pipeline"
      role="img"
      aria-label={`${plural(steps.length, "step")} of the compilation: ${said}`}
    >
      {steps.map((step) => {
        const share = (step.duration ?? 0) / whole;
        const style = { ...hueStyle(step), inlineSize: `${100 * share}%` };
        return (
          <span
            key={step.name}
            class={step.hue === null ? "kernel-step rest" : "kernel-step"}
            style={style}
            title={`${step.title}: ${formatNanoseconds(step.duration)}, ${formatShare(share, 1)} (measured)`}
          >
            {share > 0.09 ? step.title : ""}
          </span>
        );
      })}
    </div>
  );
}

function stageHref(stage: string): string {
  const { path, query } = address.value;
  return href(path.slice(1), { ...Object.fromEntries(query), stage, ir: null });
}

function hueStyle(step: Step): CSSProperties {
  return { "--hue": String(step.hue ?? 0) } as CSSProperties;
}

/** The stages in the compiler's order, what of the whole none of them accounts for, the load. */
function stepsOf(variant: Variant, load: Load | null): Step[] {
  const shown = shownStages(variant);
  const steps = variant.stages.map((stage, place): Step => ({
    name: stage.stage,
    title: stageTitle(stage.stage).replaceAll("_", " "),
    duration: stage.duration_ns,
    size: stage.size_bytes,
    hue: kernelHue(place),
    text: shown.includes(stage),
  }));
  const known = steps.reduce((sum, step) => sum + (step.duration ?? 0), 0);
  const rest = (variant.compile_ns ?? 0) - known;
  if (known && rest > 0) {
    steps.push({
      name: "(rest)",
      title: "rest",
      duration: rest,
      size: null,
      hue: null,
      text: false,
    });
  }
  if (load) {
    const hue = kernelHue(steps.length);
    const step = { name: "(load)", title: "module load", duration: load.duration_ns };
    steps.push({ ...step, size: null, hue, text: false });
  }
  return steps;
}
