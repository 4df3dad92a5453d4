// Marks the place of a finding inside its line, in a code that is already shown.

import { StateEffect } from "@codemirror/state";
import { Decoration, EditorView } from "@codemirror/view";

const look = EditorView.theme({
  ".finding-caret": {
    backgroundColor: "var(--error-soft)",
    color: "var(--error)",
    textDecoration: "underline wavy var(--error)",
    textUnderlineOffset: "3px",
  },
  ".finding-caret.unknown": {
    backgroundColor: "var(--warning-soft)",
    color: "var(--warning)",
    textDecorationColor: "var(--warning)",
  },
});

/**
 * Underline what stands at a column (from 1) of a line of the text (from 1): the name there, or
 * one character. Marks nothing where the text has no such place.
 */
export function markCaret(host: Element, line: number, column: number, kind: string): void {
  const editor = host.shadowRoot?.querySelector<HTMLElement>(".cm-editor");
  const view = editor ? EditorView.findFromDOM(editor) : null;
  if (!view || line < 1 || line > view.state.doc.lines) return;
  const { from, text } = view.state.doc.line(line);
  const rest = text.slice(column - 1);
  if (column < 1 || !rest.trim()) return;
  const length = /^[\w.]+/.exec(rest)?.[0].length ?? 1;
  const mark = Decoration.mark({ class: `finding-caret ${kind}` });
  const marked = Decoration.set([mark.range(from + column - 1, from + column - 1 + length)]);
  view.dispatch({
    effects: StateEffect.appendConfig.of([look, EditorView.decorations.of(marked)]),
  });
}
