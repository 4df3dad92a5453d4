// Small pieces of text that every view uses.

import { type ComponentChildren, type CSSProperties, Fragment } from "preact";
import { href, type Query } from "../app/router";
import { formatCount, formatPlace, plainText, plural, shortText, UNKNOWN } from "../data/format";
import { page } from "../data/page";
import type { Report } from "../data/types";
import { kernelHue, kindColor } from "./colors";

export type Maybe<T> = T | null | undefined | false;

/** Where a figure is from. */
export type Source = "measured" | "derived" | "compiler";

const SOURCES: Readonly<Record<Source, string>> = {
  measured: "Measured: recorded while the program ran",
  derived: "Derived: computed by kvtrace from the code, the arguments and the grid; not timed",
  compiler: "From the compiler: read from its output",
};

/** How the limits of a device were chosen. */
export const LIMITS_FROM: Readonly<Record<string, string>> = {
  recorded: "the device that was recorded",
  given: "the device that was given",
  assumed: "assumed for what the kernels were compiled for",
};

/** The sentence that a tooltip shows for where a figure is from. */
export function sourceText(source: Source, detail?: string): string {
  return detail ? `${SOURCES[source]}. ${detail}` : SOURCES[source];
}

/** What is behind a figure, or a column of them, that was not measured. */
export function Mark(props: { source: Maybe<Source> }) {
  if (props.source !== "derived") return null;
  return (
    <span class="derived" title="derived">
      †
    </span>
  );
}

/** What the mark means; shown once on a page that has it. */
export function Legend() {
  return (
    <p class="muted small legend">† derived from the code, the arguments and the grid, not timed</p>
  );
}

export function Section(props: {
  title: string;
  id?: string;
  aside?: ComponentChildren;
  children: ComponentChildren;
}) {
  return (
    <section id={props.id}>
      <div class="section-head">
        <h2>{props.title}</h2>
        {props.aside}
      </div>
      {props.children}
    </section>
  );
}

/** A place; names of generated files are hashes, of which the beginning and the end are enough. */
export function ShortPlace({ of }: { of: string }) {
  const shown = of.length > 26 ? `${of.slice(0, 6)}…${of.slice(-13)}` : of;
  return <span title={of}>{plainText(shown)}</span>;
}

/** Opens a place in VS Code, on a page that is shown where its program's files are. */
export function InEditor(props: {
  file: string | null | undefined;
  line: number | null | undefined;
  column?: number | null;
}) {
  const isHere = "here" in document.documentElement.dataset && props.file?.startsWith("/");
  if (!isHere || !props.line) return null;
  const place = `${encodeURI(props.file ?? "")}:${props.line}:${props.column ?? 1}`;
  return (
    <a class="small" href={`vscode://file${place}`}>
      open in VS Code
    </a>
  );
}

export function Note(props: { kind?: "warning"; children: ComponentChildren }) {
  return <p class={props.kind ? `note ${props.kind}` : "note"}>{props.children}</p>;
}

/** Why a trace without a kernel shows nothing. */
export const NOTHING = "No kernel was launched while this trace was recorded";

/** Says that nothing was judged, and what was checked nevertheless. */
export function NotJudged({ report, what = "this trace" }: { report: Report; what?: string }) {
  if (report.without_ir !== null)
    return <Note kind="warning">Not judged: {report.without_ir}</Note>;
  if (!report.totals.calls) return <Note>{NOTHING}: there is nothing to judge.</Note>;
  const seen =
    report.finding_counts && !report.judged
      ? " Only findings that the run itself observed (pass observed), or that kvtrace check made, are listed."
      : "";
  return (
    <Missing
      what={`Not judged: no access of ${what} has been judged yet.${seen} To find defects, on any machine and without running the program:`}
      command={`kvtrace sanitize ${report.trace}`}
    />
  );
}

/** Says which calls were not reached in time, and how many executions no verdict is about. */
export function NotReached({ report }: { report: Report }) {
  const { others, partial, totals, trace } = report;
  const unjudged = others && report.finding_counts ? <Note>Not judged: {others}.</Note> : null;
  if (!partial) return unjudged;
  const [done, commands] = partial.verdicts
    ? ["judged", [`kvtrace sanitize ${trace}`, `kvtrace profile ${trace} --replay`]]
    : ["replayed", [`kvtrace profile ${trace} --replay`]];
  const calls = `${formatCount(totals.calls - partial.remaining)} of ${plural(totals.calls, "unique call")}`;
  return (
    <>
      {unjudged}
      <Note kind="warning">
        {`${calls} ${done} in ${formatCount(Math.round(partial.seconds))} s, the cheapest first. For the rest: `}
        {commands.map((command) => (
          <span key={command}>
            <Command>{command}</Command>{" "}
          </span>
        ))}
      </Note>
    </>
  );
}

/** Says that bytes, FLOPs or accesses are missing, and how to derive them if that is possible. */
export function NotDerived({ what, variant }: { what: string; variant: Maybe<number> }) {
  const { kernels, variants } = page.report;
  if (kernels[variants[variant || 0]?.kernel ?? -1]?.without_ir) {
    return <Note>{what} They cannot be derived: the trace has no IR of the kernel.</Note>;
  }
  return (
    <Missing
      what={`${what} To derive them:`}
      command={`kvtrace profile ${page.report.trace} --replay`}
    />
  );
}

/** The words, in green, if all calls were judged; else in yellow how many were not. */
export function JudgedChip({ report, words }: { report: Report; words: string | null }) {
  const unjudged = report.kernels.filter((kernel) => kernel.without_ir && kernel.calls).length;
  if (unjudged) {
    const others = `${plural(unjudged, "kernel")} without IR not judged`;
    return <Pill kind="warning">{others}</Pill>;
  }
  if (!report.totals.calls) return null;
  const remaining = report.partial?.verdicts ? report.partial.remaining : 0;
  if (!remaining) return words === null ? null : <Pill kind="fine">{words}</Pill>;
  const all = plural(report.totals.calls, "unique call");
  return <Pill kind="warning">{`${formatCount(remaining)} of ${all} not judged`}</Pill>;
}

/** The color of a severity or a message's level. */
export function severityKind(severity: Maybe<string>): PillKind {
  return severity === "error" || severity === "warning" || severity === "note" ? severity : "plain";
}

/** "file.py:12" of the innermost frame of a stack of the report. */
export function stackPlace(stack: number | null): string {
  const frame = page.report.stacks[stack ?? -1]?.[0];
  return frame ? shortText(formatPlace(frame[0], frame[1]), 80) : UNKNOWN;
}

/** A command that a click selects whole, to be copied. */
export function Command(props: { children: string }) {
  return <code class="command">{props.children}</code>;
}

/** What to run where a block or table is missing: one calm sentence and the command. */
export function Missing(props: { what: string; command: string }) {
  return (
    <Note>
      {props.what} <Command>{props.command}</Command>
    </Note>
  );
}

export type PillKind = "error" | "warning" | "fine" | "note" | "plain";

export function Pill(props: { kind: PillKind; children: ComponentChildren }) {
  return <span class={`pill ${props.kind}`}>{props.children}</span>;
}

/** A description list; entries without content are left out. */
export function Facts(props: {
  entries: readonly (readonly [name: string, content: ComponentChildren])[];
}) {
  const shown = props.entries.filter(([, content]) => (content ?? "") !== "" && content !== false);
  return (
    <dl class="facts">
      {shown.map(([name, content]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{content}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A line that opens to more. */
export function Folded(props: { of: ComponentChildren; children: ComponentChildren }) {
  return (
    <details class="inline">
      <summary>{props.of}</summary>
      {props.children}
    </details>
  );
}

/** A thin bar for a share between 0 and 1. */
export function ShareBar(props: { share: number }) {
  const width = `${Math.max(0, Math.min(1, props.share)) * 100}%`;
  return (
    <span class="share" aria-hidden="true">
      <span class="share-fill" style={{ inlineSize: width }} />
    </span>
  );
}

export function Swatch(props: { kernel: number }) {
  if (props.kernel < 0) return <span class="swatch unknown" aria-hidden="true" />;
  const style = { "--hue": String(kernelHue(props.kernel)) } as CSSProperties;
  return <span class="swatch" aria-hidden="true" style={style} />;
}

/** The library of an execution for which no Triton kernel is known. */
export function KindSwatch(props: { kind: string }) {
  return (
    <span
      class="swatch"
      aria-hidden="true"
      title={props.kind}
      style={{ background: kindColor(props.kind) }}
    />
  );
}

/** A device function's full name, of its short one; undefined where there is no more to say. */
export function fullName(name: string): string | undefined {
  const { device_names: names, device_functions: functions } = page.report;
  const full = functions[names.indexOf(name)];
  return full === undefined || full === name ? undefined : shortText(full, 4000);
}

/**
 * A name that may be broken behind its parts, so that none of it needs to be cut off. The tooltip
 * of a device function's short name is its full name.
 */
export function Name(props: { of: string }) {
  const parts = plainText(props.of).split(/(?<=[_:<,(/])(?=[^_:<,(/ ])/);
  return (
    <span title={fullName(props.of)}>
      {parts.map((part, place) => (
        <Fragment key={place}>
          {place ? <wbr /> : null}
          {part}
        </Fragment>
      ))}
    </span>
  );
}

/** In place of a kernel: kernels that bins do not tell apart, as they are not those with most time. */
export const OTHERS = -2;

export function kernelName(kernel: number): string {
  const unnamed = kernel === OTHERS ? "other kernels" : "unknown kernel";
  return shortText(page.report.kernels[kernel]?.name ?? unnamed);
}

/** `name`: what it is called where that is more than its own. */
export function KernelLink({ kernel, name }: { kernel: number; name?: string }) {
  return (
    <span class="kernel-name">
      <Swatch kernel={kernel} />
      {kernel < 0 ? (
        <span>{kernelName(kernel)}</span>
      ) : (
        <a href={href(`kernel/${kernel}`)} title={kernelName(kernel)}>
          <Name of={name ?? kernelName(kernel)} />
        </a>
      )}
    </span>
  );
}

/** The address of a variant's part of its kernel's view. */
export function variantHref(variant: number, query: Query = {}): string {
  return href(`kernel/${page.report.variants[variant]?.kernel ?? -1}/variant/${variant}`, query);
}

export function VariantLink(props: { variant: number }) {
  const { report } = page;
  const variant = report.variants[props.variant];
  if (!variant) return <span class="muted">not recorded</span>;
  const run = report.runs.length > 1 ? `, ${report.runs[variant.run]?.label ?? ""}` : "";
  return (
    <span class="kernel-name">
      <Swatch kernel={variant.kernel} />
      <a href={variantHref(props.variant)}>{kernelName(variant.kernel)}</a>
      <span class="muted">
        variant {variant.kernel_id}
        {run}
      </span>
    </span>
  );
}

export function CallLink(props: { call: number }) {
  const call = page.report.calls[props.call];
  if (!call) return <span class="muted">–</span>;
  return <a href={href(`call/${props.call}`)}>{formatCount(call.call_id)}</a>;
}

/** The part of the runs that times on a page are of; nothing if that is all of them. */
export function WindowNote() {
  const { answer, window } = page.report;
  return window && answer ? <p class="muted">Times are of this part: {answer.part}.</p> : null;
}

/** What did not fit into the page. */
export function DroppedNotes() {
  return (
    <>
      {page.report.dropped.map((entry) => (
        <p class="note warning" key={entry.what} data-dropped={entry.what}>
          {entry.text} <Command>{entry.command}</Command>
        </p>
      ))}
    </>
  );
}

export function trackName(index: number): string {
  const { report } = page;
  const track = report.tracks[index];
  if (!track) return "–";
  if (report.runs.length < 2) return track.label;
  return `${report.runs[track.run]?.label ?? ""} ${track.label}`;
}
