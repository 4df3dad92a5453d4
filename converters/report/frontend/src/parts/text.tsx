// Small pieces of text that every view uses.

import type { CSSProperties, ComponentChildren, JSX } from "preact";

import { href } from "../app/router";
import { formatCount, shortText } from "../data/format";
import type { Page } from "../data/page";
import type { Report } from "../data/types";
import { kernelHue } from "./colours";

export type Maybe<T> = T | null | undefined | false;

/** Where a figure is from. */
export type Source = "measured" | "derived" | "compiler";

const SOURCES: Readonly<Record<Source, string>> = {
  measured: "Measured: recorded while the program ran",
  derived: "Derived: worked out by kvtrace from the code, the arguments and the grid; not timed",
  compiler: "From the compiler: read from what it made",
};

/** The sentence that a tooltip shows for where a figure is from. */
export function sourceText(source: Source, detail?: string): string {
  return detail ? `${SOURCES[source]}. ${detail}` : SOURCES[source];
}

export function Section(props: {
  title: string;
  id?: string;
  aside?: ComponentChildren;
  children: ComponentChildren;
}): JSX.Element {
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

export function Note(props: { kind?: "warning"; children: ComponentChildren }): JSX.Element {
  return <p class={props.kind ? `note ${props.kind}` : "note"}>{props.children}</p>;
}

/** A command that a click selects whole, to be copied. */
export function Command(props: { children: string }): JSX.Element {
  return <code class="command">{props.children}</code>;
}

/** What to run where a block or table is missing: one calm sentence and the command. */
export function Missing(props: { what: string; command: string }): JSX.Element {
  return (
    <Note>
      {props.what} <Command>{props.command}</Command>
    </Note>
  );
}

export type PillKind = "error" | "warning" | "fine" | "note" | "plain";

export function Pill(props: { kind: PillKind; children: ComponentChildren }): JSX.Element {
  return <span class={`pill ${props.kind}`}>{props.children}</span>;
}

/** A description list; entries without content are left out. */
export function Facts(props: {
  entries: readonly (readonly [name: string, content: ComponentChildren])[];
}): JSX.Element {
  const shown = props.entries.filter(
    ([, content]) => content !== null && content !== undefined && content !== "",
  );
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

/** A thin bar for a share between 0 and 1. */
export function ShareBar(props: { share: number }): JSX.Element {
  const width = `${Math.max(0, Math.min(1, props.share)) * 100}%`;
  return (
    <span class="share" aria-hidden="true">
      <span class="share-fill" style={{ inlineSize: width }} />
    </span>
  );
}

export function Swatch(props: { kernel: number }): JSX.Element {
  if (props.kernel < 0) return <span class="swatch unknown" aria-hidden="true" />;
  const style = { "--hue": String(kernelHue(props.kernel)) } as CSSProperties;
  return <span class="swatch" aria-hidden="true" style={style} />;
}

export function kernelName(report: Report, kernel: number): string {
  return shortText(report.kernels[kernel]?.name ?? "unknown kernel");
}

export function KernelLink(props: { page: Page; kernel: number }): JSX.Element {
  const { page, kernel } = props;
  return (
    <span class="kernel-name">
      <Swatch kernel={kernel} />
      {kernel < 0 ? (
        <span>unknown kernel</span>
      ) : (
        <a href={href(`kernel/${kernel}`)}>{kernelName(page.report, kernel)}</a>
      )}
    </span>
  );
}

/** The address of a variant's part of its kernel's view. */
export function variantHref(report: Report, variant: number): string {
  return href(`kernel/${report.variants[variant]?.kernel ?? -1}/variant/${variant}`);
}

export function VariantLink(props: { page: Page; variant: number }): JSX.Element {
  const { report } = props.page;
  const variant = report.variants[props.variant];
  if (!variant) return <span class="muted">not recorded</span>;
  const run = report.runs.length > 1 ? `, ${report.runs[variant.run]?.label ?? ""}` : "";
  return (
    <span class="kernel-name">
      <Swatch kernel={variant.kernel} />
      <a href={variantHref(report, props.variant)}>{kernelName(report, variant.kernel)}</a>
      <span class="muted">
        variant {variant.kernel_id}
        {run}
      </span>
    </span>
  );
}

export function CallLink(props: { page: Page; call: number }): JSX.Element {
  const call = props.page.report.calls[props.call];
  if (!call) return <span class="muted">–</span>;
  return <a href={href(`call/${props.call}`)}>{formatCount(call.call_id)}</a>;
}

/** What did not fit into the page. */
export function DroppedNotes(props: { page: Page }): JSX.Element {
  return (
    <>
      {props.page.report.dropped.map((entry) => (
        <p class="note warning" key={entry.what} data-dropped={entry.what}>
          {entry.text} <Command>{entry.command}</Command>
        </p>
      ))}
    </>
  );
}

export function trackName(report: Report, index: number): string {
  const track = report.tracks[index];
  if (!track) return "–";
  if (report.runs.length < 2) return track.label;
  return `${report.runs[track.run]?.label ?? ""} ${track.label}`;
}
