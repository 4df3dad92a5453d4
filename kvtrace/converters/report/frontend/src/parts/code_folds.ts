// Lines that are left out until they are asked for.

import { type EditorState, type Range, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view";
import { plural } from "../data/format";

/** First and last line to leave out, counted from the text's first line as 1. */
export type Fold = readonly [first: number, last: number];

export const setFolds = StateEffect.define<readonly Fold[]>();
const unfold = StateEffect.define<number>();
/** Unfold what hides a position. */
export const unfoldAt = StateEffect.define<number>();

class FoldWidget extends WidgetType {
  constructor(
    readonly count: number,
    readonly from: number,
  ) {
    super();
  }

  override eq(other: FoldWidget): boolean {
    return other.count === this.count && other.from === this.from;
  }

  override toDOM(view: EditorView): HTMLElement {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "fold";
    button.textContent = `⋯ ${plural(this.count, "line")}`;
    button.addEventListener("click", () => view.dispatch({ effects: unfold.of(this.from) }));
    return button;
  }

  override ignoreEvent(): boolean {
    return true;
  }
}

function decorated(state: EditorState, folds: readonly Fold[]): DecorationSet {
  const ranges: Range<Decoration>[] = [];
  for (const [first, last] of folds) {
    if (first < 1 || last > state.doc.lines || last < first) continue;
    const [from, to] = [state.doc.line(first).from, state.doc.line(last).to];
    const widget = new FoldWidget(last - first + 1, from);
    ranges.push(Decoration.replace({ widget, block: true }).range(from, to));
  }
  return Decoration.set(ranges, true);
}

export const folds = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(value, transaction) {
    let now = value.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (effect.is(setFolds)) now = decorated(transaction.state, effect.value);
      if (effect.is(unfold)) now = now.update({ filter: (from) => from !== effect.value });
      if (effect.is(unfoldAt)) {
        const at = effect.value;
        now = now.update({ filter: (from, to) => at < from || at > to });
      }
    }
    return now;
  },
  provide: (field) => EditorView.decorations.from(field),
});
