// A number that says where it is from.

import type { ComponentChildren, JSX } from "preact";

import { type Source, sourceText } from "./text";

interface FigureProps {
  readonly name: string;
  /** The plain number, for tests and for copying; null where it is not known. */
  readonly value: number | null;
  readonly shown: string;
  readonly source: Source;
  /** How it was counted, for the tooltip. */
  readonly how?: string;
  /** Stands below; in its absence the word for the source does. */
  readonly detail?: ComponentChildren;
}

/** A large figure in a row of them. */
export function Figure(props: FigureProps): JSX.Element {
  return (
    <div
      class="figure"
      data-figure={props.name}
      data-value={props.value ?? ""}
      data-source={props.source}
      title={sourceText(props.source, props.how)}
    >
      <span class="figure-value">{props.shown}</span>
      <span class="figure-name">{props.name}</span>
      <span class="muted small">
        {props.detail ?? props.source}
        {props.detail ? <span class="hidden">, {props.source}</span> : null}
      </span>
    </div>
  );
}

export function Figures(props: { id?: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class="figures" id={props.id}>
      {props.children}
    </div>
  );
}

/** A figure inside a line of text. */
export function Value(props: {
  source: Source;
  how?: string;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <span class="value" data-source={props.source} title={sourceText(props.source, props.how)}>
      {props.children} <span class="value-source">{props.source}</span>
    </span>
  );
}
