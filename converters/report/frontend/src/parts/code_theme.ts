// How code looks. Colors are the page's custom properties, which reach into the editor's shadow.

import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const look = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--raised)", maxBlockSize: "inherit" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": {
    fontFamily: "var(--code-font)",
    fontSize: "12.5px",
    lineHeight: "20px",
    overflow: "auto",
    overscrollBehavior: "contain",
  },
  ".cm-content": { caretColor: "transparent", paddingBlock: "4px" },
  ".cm-gutters": {
    backgroundColor: "var(--raised)",
    color: "var(--muted)",
    borderInlineEnd: "1px solid var(--line)",
  },
  ".cm-lineNumbers .cm-gutterElement": { minInlineSize: "4ch", paddingInline: "8px 6px" },
  ".cm-line": { borderInlineStart: "3px solid transparent", paddingInline: "6px 16px" },
  ".cm-line.linked": { cursor: "pointer", borderInlineStartColor: "var(--accent-soft)" },
  ".cm-line.violation": { borderInlineStartColor: "var(--error)" },
  ".cm-line.unknown": { borderInlineStartColor: "var(--warning)" },
  ".cm-line.marked": { backgroundColor: "var(--error-soft)" },
  ".cm-line.hottest": { boxShadow: "inset 0 0 0 1px var(--hottest)" },
  ".cm-line.outer": { backgroundColor: "var(--outer)" },
  ".cm-line.there": { backgroundColor: "var(--there)" },
  ".cm-line.here": { backgroundColor: "var(--here)" },
  ".finding-caret": { textDecoration: "underline wavy", textUnderlineOffset: "3px" },
  ".finding-caret.violation": { backgroundColor: "var(--error-soft)", color: "var(--error)" },
  ".finding-caret.unknown": { backgroundColor: "var(--warning-soft)", color: "var(--warning)" },
  ".heat": { fontVariantNumeric: "tabular-nums", paddingInline: "4px", textAlign: "end" },
  ".heat-cell": {
    position: "relative",
    display: "block",
    paddingInline: "4px",
    minInlineSize: "11ch",
  },
  ".heat-bar": {
    position: "absolute",
    insetBlock: "2px",
    insetInlineEnd: "0",
    backgroundColor: "var(--heat)",
    borderRadius: "2px",
  },
  ".heat-text": { position: "relative", color: "var(--text)" },
  ".fold": {
    cursor: "pointer",
    color: "var(--muted)",
    background: "none",
    border: "0",
    font: "inherit",
    padding: "0",
  },
  ".fold:hover, .fold:focus-visible": { color: "var(--accent)" },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--text)" },
  ".cm-textfield, .cm-button": {
    backgroundColor: "var(--back)",
    backgroundImage: "none",
    color: "var(--text)",
    border: "1px solid var(--line)",
  },
  ".cm-searchMatch": { backgroundColor: "var(--there)" },
  ".cm-searchMatch-selected": { backgroundColor: "var(--here)" },
  ".cm-specialChar": { color: "var(--error)" },
});

const colors = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--keyword)" },
  { tag: tags.string, color: "var(--string)" },
  { tag: tags.number, color: "var(--number)" },
  { tag: tags.comment, color: "var(--comment)" },
  { tag: tags.typeName, color: "var(--type)" },
  { tag: tags.meta, color: "var(--type)" },
  { tag: tags.variableName, color: "var(--name)" },
]);

export const codeLook: Extension = [look, syntaxHighlighting(colors)];
