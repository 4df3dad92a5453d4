// A number that says where it is from.

import type { ComponentChildren } from "preact";
import { type Format, formatted, type Maybe } from "../data/format";
import { Mark, type Source, sourceText } from "./text";

export interface FigureOf {
  readonly name: string;
  /** The plain number, for tests and for copying; null where it is not known. */
  readonly value: Maybe<number>;
  /** A count, unless it says otherwise. */
  readonly as?: Format;
  /** In place of the value in its format. */
  readonly shown?: string;
  /** Derived, unless it says otherwise. */
  readonly source?: Source;
  /** How it was counted, for the tooltip. */
  readonly how?: string;
  /** Shown below. */
  readonly detail?: ComponentChildren;
  /** Shown before the others, in red. */
  readonly urgent?: boolean;
}

const from =
  (source: Source) =>
  (
    name: string,
    value: Maybe<number>,
    as: Format = "count",
    how = "",
    detail: ComponentChildren = null,
  ): FigureOf => ({ name, value, as, source, how, detail });

/** Figures by where they are from: a name, the value, its unit, how it was counted, a detail. */
export const measured = from("measured");
export const derived = from("derived");
export const fromCompiler = from("compiler");

/** Large figures in a row. */
export function Figures(props: {
  id?: string;
  of: readonly (FigureOf | readonly FigureOf[] | null | false)[];
}) {
  const all = props.of.flatMap((each) => each || []);
  const shown = [...all.filter(({ urgent }) => urgent), ...all.filter(({ urgent }) => !urgent)];
  return (
    <div class="figures" id={props.id}>
      {shown.map((each) => (
        <Figure key={each.name} {...each} />
      ))}
    </div>
  );
}

function Figure({ name, value, as, shown, source = "derived", how, detail, urgent }: FigureOf) {
  return (
    <div
      class={urgent ? "figure urgent" : "figure"}
      data-figure={name}
      data-value={value ?? ""}
      data-source={source}
      title={sourceText(source, how)}
    >
      <span class="figure-value">{shown ?? formatted(value, as)}</span>
      <span class="figure-name">
        {name}
        <Mark source={source} />
      </span>
      <span class="muted small">{detail}</span>
    </div>
  );
}

/** A figure inside a line of text. */
export function Value(props: { source: Source; how?: string; children: ComponentChildren }) {
  return (
    <span class="value" data-source={props.source} title={sourceText(props.source, props.how)}>
      {props.children}
      <Mark source={props.source} />
    </span>
  );
}
