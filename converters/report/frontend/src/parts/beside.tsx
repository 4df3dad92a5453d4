// A canvas and the table that says the same: a button goes from one to the other.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

interface WithTableProps {
  /** What both show, as "Timeline". */
  readonly name: string;
  readonly canvas: ComponentChildren;
  /** Called when the table is shown. */
  table(): ComponentChildren;
}

/** Shows the canvas, and on demand the table below it. */
export function WithTable(props: WithTableProps) {
  const [open, setOpen] = useState(false);
  return (
    <div class="with-table">
      {props.canvas}
      <button type="button" class="quiet small" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? "Hide the table" : "Show as a table"}
        <span class="hidden"> ({props.name})</span>
      </button>
      {open ? props.table() : null}
    </div>
  );
}

/** Two panes side by side; below each other where there is no room. */
export function Split(props: {
  left: ComponentChildren;
  right: ComponentChildren;
  wide?: "left" | "right";
}) {
  return (
    <div class={`split ${props.wide ? `wide-${props.wide}` : ""}`}>
      <div class="split-pane">{props.left}</div>
      <div class="split-pane">{props.right}</div>
    </div>
  );
}
