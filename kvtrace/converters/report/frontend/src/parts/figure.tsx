// A number that says where it is from.

import type { ComponentChildren } from "preact";

import { type Maybe, formatCount } from "../data/format";
import { type Source, sourceText } from "./text";

interface FigureProps {
  readonly name: string;
  /** The plain number, for tests and for copying; null where it is not known. */
  readonly value: Maybe<number>;
  readonly format?: (value: Maybe<number>) => string;
  /** In place of the value in its format. */
  readonly shown?: string;
  /** Derived, unless it says otherwise. */
  readonly source?: Source;
  /** How it was counted, for the tooltip. */
  readonly how?: string;
  /** Stands below; in its absence the word for the source does. */
  readonly detail?: ComponentChildren;
}

/** A large figure in a row of them. */
export function Figure(props: FigureProps) {
  const { value, format = formatCount, source = "derived" } = props;
  return (
    <div
      class="figure"
      data-figure={props.name}
      data-value={value ?? ""}
      data-source={source}
      title={sourceText(source, props.how)}
    >
      <span class="figure-value">{props.shown ?? format(value)}</span>
      <span class="figure-name">{props.name}</span>
      <span class="muted small">
        {props.detail ?? source}
        {props.detail ? <span class="hidden">, {source}</span> : null}
      </span>
    </div>
  );
}

export function Figures(props: { id?: string; children: ComponentChildren }) {
  return (
    <div class="figures" id={props.id}>
      {props.children}
    </div>
  );
}

/** A figure inside a line of text. */
export function Value(props: { source: Source; how?: string; children: ComponentChildren }) {
  return (
    <span class="value" data-source={props.source} title={sourceText(props.source, props.how)}>
      {props.children} <span class="value-source">{props.source}</span>
    </span>
  );
}
