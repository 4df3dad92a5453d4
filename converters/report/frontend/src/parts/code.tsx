// Code to read: CodeMirror without editing, inside a shadow root so that its styles are the
// constructed kind, which the page's policy lets in.

import { openSearchPanel, search, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, highlightSpecialChars, keymap } from "@codemirror/view";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import {
  type Dressing,
  dressing,
  dressingField,
  type Heat,
  hottestLine,
  type LineMark,
  type Lit,
  numberAt,
  PLAIN,
  setDressing,
  type Underlined,
} from "./code_dressing";
import { type Fold, folds, setFolds, unfoldAt } from "./code_folds";
import { type Language, languageMode } from "./code_languages";
import { codeLook } from "./code_theme";

export { stageLanguage } from "./code_languages";
export type { Fold, Heat, Language, LineMark, Lit };

/** All line numbers are those of the file: the text's first line is `firstLine` (1 if left out). */
interface CodeProps {
  readonly text: string;
  readonly language: Language;
  /** What it is, for those who do not see it. */
  readonly label: string;
  readonly id?: string;
  readonly firstLine?: number;
  /** Lines with findings, or the one that is meant. */
  readonly marks?: ReadonlyMap<number, LineMark>;
  /** What is at a column (from 1) of a line is underlined: the name there, or a character. */
  readonly underlined?: Underlined;
  /** Lines that light up. */
  readonly lit?: ReadonlyMap<number, Lit>;
  /** Lines that belong to others: pointed at, chosen, and stepped through with the arrow keys. */
  readonly linked?: ReadonlySet<number>;
  /** A bar and a figure beside each line; the code opens at the hottest, unless one is revealed. */
  readonly heat?: ReadonlyMap<number, Heat> | null;
  /** Lines left out until asked for; counted from the text's first line as 1. */
  readonly folds?: readonly Fold[];
  /** A line to bring into view when this changes. */
  readonly reveal?: number | null;
  /** Height that it may take, as a CSS length. */
  readonly height?: string;
  /** The line that the pointer is over; null when it leaves. */
  onPoint?(line: number | null): void;
  /** A click on a line, or arrow keys from one linked line to the next; null is Escape. */
  onChoose?(line: number | null): void;
}

export function Code(props: CodeProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef(props);
  latest.current = props;

  useLayoutEffect(() => {
    const place = host.current;
    if (!place) return undefined;
    const root = place.shadowRoot ?? place.attachShadow({ mode: "open" });
    const editor = new EditorView({
      state: EditorState.create({ doc: props.text, extensions: extensions(latest) }),
      parent: root,
      root,
    });
    editor.dispatch({ effects: setDressing.of(dressed(props)) });
    setFolds(editor, props.folds ?? []);
    view.current = editor;
    return () => {
      view.current = null;
      editor.destroy();
    };
  }, [props.text, props.language]);

  useEffect(() => {
    view.current?.dispatch({ effects: setDressing.of(dressed(props)) });
  }, [props.firstLine, props.marks, props.underlined, props.lit, props.linked, props.heat]);

  useEffect(() => {
    if (view.current) setFolds(view.current, props.folds ?? []);
  }, [props.folds]);

  useEffect(() => {
    if (view.current && props.reveal) revealLine(view.current, props.reveal);
  }, [props.reveal, props.text]);

  useEffect(() => {
    const line = hottestLine(props.heat);
    if (view.current && line !== null && !latest.current.reveal) openAt(view.current, line);
  }, [props.heat, props.text]);

  return (
    <div class="code" id={props.id} ref={host} style={{ maxBlockSize: props.height ?? "38rem" }} />
  );
}

function dressed(props: CodeProps): Dressing {
  return {
    firstLine: props.firstLine ?? 1,
    marks: props.marks ?? PLAIN.marks,
    underlined: props.underlined ?? null,
    lit: props.lit ?? PLAIN.lit,
    linked: props.linked ?? PLAIN.linked,
    heat: props.heat ?? null,
  };
}

/** Where a line of the file begins in the editor's text; null where it is not in it. */
function startOf(editor: EditorView, number: number): number | null {
  const place = number - editor.state.field(dressingField).firstLine + 1;
  return place < 1 || place > editor.state.doc.lines ? null : editor.state.doc.line(place).from;
}

/** Scroll the editor to a line that is out of its view. The page stays where it is. */
function openAt(editor: EditorView, number: number): void {
  const at = startOf(editor, number);
  if (at === null) return;
  editor.requestMeasure({
    read: () => editor.lineBlockAt(at),
    write({ top, bottom }) {
      const { scrollDOM: box } = editor;
      const isSeen = top >= box.scrollTop && bottom <= box.scrollTop + box.clientHeight;
      if (!isSeen) box.scrollTop = (top + bottom - box.clientHeight) / 2;
    },
  });
}

function revealLine(editor: EditorView, number: number): void {
  const at = startOf(editor, number);
  if (at === null) return;
  const scroll = EditorView.scrollIntoView(at, { y: "nearest", yMargin: 80 });
  editor.dispatch({ effects: [...unfoldAt(editor.state, at), scroll] });
}

function extensions(latest: { readonly current: CodeProps }): Extension {
  return [
    dressing,
    folds,
    codeLook,
    highlightSpecialChars(),
    search({ top: true }),
    EditorState.readOnly.of(true),
    EditorView.editable.of(false),
    EditorView.contentAttributes.of({
      tabindex: "0",
      "aria-label": latest.current.label,
      "aria-readonly": "true",
    }),
    languageMode(latest.current.language),
    keymap.of([
      { key: "ArrowDown", run: (view) => step(view, latest.current, 1) },
      { key: "ArrowUp", run: (view) => step(view, latest.current, -1) },
      { key: "Escape", run: () => chosen(latest.current, null) },
      { key: "Mod-f", run: openSearchPanel },
      ...searchKeymap,
    ]),
    EditorView.domEventHandlers({
      click: (event, view) => {
        const number = lineUnder(view, event);
        return number !== null && chosen(latest.current, number);
      },
      mousemove: (event, view) => {
        latest.current.onPoint?.(lineUnder(view, event));
        return false;
      },
      mouseleave: () => {
        latest.current.onPoint?.(null);
        return false;
      },
    }),
  ];
}

function chosen(props: CodeProps, number: number | null): boolean {
  props.onChoose?.(number);
  return props.onChoose !== undefined;
}

/** Choose the next linked line; the chosen one is the one that is lit as "here". */
function step(view: EditorView, props: CodeProps, direction: 1 | -1): boolean {
  const stops = [...(props.linked ?? [])].sort((a, b) => a - b);
  if (!stops.length || !props.onChoose) return false;
  const here = [...(props.lit ?? [])].find(([, lit]) => lit === "here")?.[0];
  const next =
    here === undefined
      ? stops[direction > 0 ? 0 : stops.length - 1]
      : direction > 0
        ? stops.find((stop) => stop > here)
        : stops.findLast((stop) => stop < here);
  if (next === undefined) return true;
  props.onChoose(next);
  revealLine(view, next);
  return true;
}

function lineUnder(view: EditorView, event: MouseEvent): number | null {
  const position = view.posAtCoords({ x: event.clientX, y: event.clientY });
  const target = event.target as HTMLElement;
  if (position === null || !target.closest(".cm-content") || target.closest(".fold")) return null;
  return numberAt(view.state, position);
}
