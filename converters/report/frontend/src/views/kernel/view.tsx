// One kernel: its code, the variants it was compiled to, and what its calls did.

import { useEffect, useMemo } from "preact/hooks";
import { NotHere } from "../../app/boundary";
import type { View, ViewProps } from "../../app/view";
import { formatCount, formatNanoseconds, formatShare, plural, shortText } from "../../data/format";
import { page } from "../../data/page";
import type { KernelBlock, Variant } from "../../data/types";
import { useBlock } from "../../data/use_block";
import { derived, Figures, measured } from "../../parts/figure";
import {
  DroppedNotes,
  Facts,
  InEditor,
  kernelName,
  NotDerived,
  Note,
  Section,
  Swatch,
  WindowNote,
} from "../../parts/text";
import { replayAdvice, workFigures } from "../../parts/work_figures";
import { Calls, useCallsOf } from "./calls";
import { CodeView } from "./code_view";
import { FindingTable } from "./finding_table";
import { FACTS } from "./further";
import "./kernel.css";
import { markedFindings } from "../../parts/finding_marks";
import { Pipeline } from "./pipeline";
import { Resources, Specialization } from "./resources";
import { Roofline } from "./roofline";
import { heldPlace, holdPlace, shownFiles } from "./state";
import { Tunings } from "./tuning";
import { Recompile, variantName, VariantTable } from "./variants";

function KernelView({ params }: ViewProps) {
  const index = Number(params["kernel"]);
  const kernel = page.report.kernels[index];
  const variant =
    params["variant"] === undefined ? busiestVariant(index) : Number(params["variant"]);
  if (!kernel) return <NotHere what="kernel" />;
  if (variant !== null && !kernel.variants.includes(variant))
    return <NotHere what="variant of this kernel" />;
  return <Shown key={index} index={index} chosen={variant} />;
}

/** The variant whose launches took longest; null where none was recorded. */
function busiestVariant(kernel: number): number | null {
  const { report } = page;
  const time = (index: number): number => report.variants[index]?.host_ns ?? 0;
  return (report.kernels[kernel]?.variants ?? []).reduce<number | null>(
    (best, index) => (best === null || time(index) > time(best) ? index : best),
    null,
  );
}

function showCode(): void {
  document.getElementById("code")?.scrollIntoView({ block: "start" });
}

const NO_VARIANTS: readonly number[] = [];

function Shown({ index, chosen }: { index: number; chosen: number | null }) {
  const { report } = page;
  const variant = report.variants[chosen ?? -1] ?? null;
  const files = useMemo(() => (variant ? shownFiles(variant) : []), [variant]);
  const findings = useMemo(() => {
    const own = report.findings.filter(
      ({ kernel, found }) => kernel === index && !found.suppressed,
    );
    return markedFindings(own, files);
  }, [index, files]);
  const calls = useCallsOf(index);
  const loaded = useBlock<KernelBlock>(page, `kernel/${index}`);
  const block = loaded.state === "ready" ? loaded.value : null;
  const variants = report.kernels[index]?.variants ?? NO_VARIANTS;
  useEffect(() => {
    // A link to a line scrolls to it; without one the page begins at its top.
    if (heldPlace()) requestAnimationFrame(showCode);
  }, []);
  return (
    <>
      <h1>
        <Swatch kernel={index} />
        {kernelName(index)}
      </h1>
      <DroppedNotes />
      <KernelHead index={index} />
      {variants.length > 1 && chosen !== null ? (
        <Section title="Variants" id="variants-part">
          <VariantTable kernel={index} chosen={chosen} />
        </Section>
      ) : null}
      {variant && chosen !== null ? (
        <Section
          title={variants.length > 1 ? `Code of variant ${variantName(chosen)}` : "Code"}
          id="code"
        >
          <CodeView key={chosen} index={chosen} variant={variant} findings={findings} />
        </Section>
      ) : (
        <Note>No variant of this kernel was recorded.</Note>
      )}
      <Section title="Findings" id="findings">
        <FindingTable
          kernel={index}
          findings={findings}
          onChoose={(path, line) => {
            const at = files.findIndex((file) => file.path === path);
            holdPlace({ pane: "source", line }, at < 0 ? null : at);
            showCode();
          }}
        />
      </Section>
      {variant && chosen !== null ? <Compiled variant={variant} /> : null}
      <Section title="Roofline" id="roofline-part">
        <Roofline calls={calls} />
      </Section>
      {block?.tunings.length ? (
        <Section title="Autotuning" id="tuning">
          <Tunings tunings={block.tunings} />
        </Section>
      ) : null}
      <Section title="Calls" id="calls-part">
        {calls.length && calls.every((call) => report.calls[call]?.bytes === null) ? (
          <NotDerived
            what="The bytes and FLOPs of its calls are not known."
            variant={report.kernels[index]?.variants[0]}
          />
        ) : null}
        <Calls kernel={index} calls={calls} />
      </Section>
    </>
  );
}

/** What the compiler did for the chosen variant, why, and what it takes on the device. */
function Compiled({ variant }: { variant: Variant }) {
  return (
    <>
      <Section title="Resources" id="resources-part">
        <Resources variant={variant} />
      </Section>
      <Section title="Compilation" id="compilation">
        <Pipeline variant={variant} />
      </Section>
      <Section title="Specialization" id="specialization-part">
        <Recompile variant={variant} />
        <Specialization variant={variant} />
      </Section>
    </>
  );
}

const view: View = {
  name: "kernel",
  title: "Kernel",
  section: "kernels",
  order: 21,
  routes: ["kernel/:kernel", "kernel/:kernel/variant/:variant"],
  keys: [
    ["↓ ↑", "In code: next or previous line with a counterpart"],
    ["Esc", "In code: release the pinned line"],
  ],
  Component: KernelView,
};

export default view;

const OF = "Roofline time divided by the measured GPU time";

function KernelHead({ index }: { index: number }) {
  const { report } = page;
  const kernel = report.kernels[index];
  if (!kernel) return null;
  const { tuning_launches: tuning, device_executions: executions } = kernel;
  const calls = `of ${plural(kernel.calls, "unique call")}`;
  const launches = tuning ? `and ${formatCount(tuning)} tuning` : calls;
  const best = `at best ${formatNanoseconds(kernel.best_ns)}`;
  return (
    <>
      {kernel.headline ? <p id="kernel-headline">{kernel.headline}.</p> : null}
      <WindowNote />
      <Facts
        entries={[
          [
            "Defined",
            kernel.file ? (
              <>
                <code class="wrap">
                  {shortText(kernel.file)}
                  {kernel.line === null ? "" : `:${kernel.line}`}
                </code>{" "}
                <InEditor file={kernel.file} line={kernel.line} />
              </>
            ) : null,
          ],
          ["Module", kernel.module ? shortText(kernel.module) : null],
          ["Comes from", kernel.origin],
          ...FACTS.filter((fact) => fact.shown()).map(
            ({ title, Component }) => [title, <Component kernel={index} />] as const,
          ),
        ]}
      />
      <Figures
        id="figures"
        of={[
          measured("launches", kernel.launches, "count", "", launches),
          kernel.achieved !== null && derived("of roofline", kernel.achieved, "share", OF, best),
          workFigures(kernel, report.totals.device_ns !== null, {
            host: `${formatShare(kernel.host_ns, report.totals.host_ns)} of all host time`,
            compile: plural(kernel.compilations, "variant"),
            device: executions === null ? null : plural(executions, "execution"),
            replayed: kernel.bytes === null ? replayAdvice(kernel.without_ir) : null,
            violations: kernel.unknowns ? `${formatCount(kernel.unknowns)} unknown` : null,
          }),
        ]}
      />
    </>
  );
}
