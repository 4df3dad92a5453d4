// Lines that are left out until they are asked for.

import { codeFolding, foldedRanges, foldEffect, unfoldEffect } from "@codemirror/language";
import type { EditorState, StateEffect } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import { plural } from "../data/format";

/** First and last line to leave out, counted from the text's first line as 1. */
export type Fold = readonly [first: number, last: number];

type Range = { from: number; to: number };

export const folds = codeFolding({
  preparePlaceholder: ({ doc }, { from, to }) =>
    doc.lineAt(to).number - doc.lineAt(from).number + 1,
  placeholderDOM(_, onclick, lines: number) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "fold";
    button.textContent = `⋯ ${plural(lines, "line")}`;
    button.addEventListener("click", onclick);
    return button;
  },
});

/** Unfold what hides a part of the text. */
export function unfoldAt(state: EditorState, from: number, to = from): StateEffect<Range>[] {
  const effects: StateEffect<Range>[] = [];
  foldedRanges(state).between(from, to, (from, to) => {
    effects.push(unfoldEffect.of({ from, to }));
  });
  return effects;
}

export function setFolds(view: EditorView, wanted: readonly Fold[]): void {
  const { doc } = view.state;
  const fits = wanted.filter(([first, last]) => first > 0 && last <= doc.lines && first <= last);
  const ranges = fits.map(([first, last]) => ({
    from: doc.line(first).from,
    to: doc.line(last).to,
  }));
  const effects = ranges.map((range) => foldEffect.of(range));
  view.dispatch({ effects: [...unfoldAt(view.state, 0, doc.length), ...effects] });
}
