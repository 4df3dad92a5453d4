// What is drawn on and beside a code's lines: marks, lit lines, links, heat. Lines carry the numbers
// that they have in their file.

import {
  type EditorState,
  type Extension,
  RangeSetBuilder,
  StateEffect,
  StateField,
} from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  EditorView,
  gutter,
  GutterMarker,
  lineNumbers,
  ViewPlugin,
  type ViewUpdate,
} from "@codemirror/view";

/** Of a line: "here" is chosen, "there" belongs to it, "outer" is a caller of that. */
export type Lit = "here" | "there" | "outer";
export type LineMark = "violation" | "unknown" | "marked";

export interface Heat {
  /** Between 0 and 1, as the length of a bar; null shows the text alone. */
  readonly share: number | null;
  readonly text: string;
  /** The tooltip; says whether it was measured or derived. */
  readonly title: string;
  /** The line with most: it is marked, and the code opens at it. */
  readonly hottest?: boolean;
}

export interface Underlined {
  readonly line: number;
  readonly column: number;
}

export interface Dressing {
  /** Number of the text's first line. */
  readonly firstLine: number;
  readonly marks: ReadonlyMap<number, LineMark>;
  readonly underlined: Underlined | null;
  readonly lit: ReadonlyMap<number, Lit>;
  readonly linked: ReadonlySet<number>;
  readonly heat: ReadonlyMap<number, Heat> | null;
}

export const setDressing = StateEffect.define<Dressing>();

export const PLAIN: Dressing = {
  firstLine: 1,
  marks: new Map(),
  underlined: null,
  lit: new Map(),
  linked: new Set(),
  heat: null,
};

export const dressingField = StateField.define<Dressing>({
  create: () => PLAIN,
  update(value, transaction) {
    for (const effect of transaction.effects) if (effect.is(setDressing)) return effect.value;
    return value;
  },
});

/** The file's number of the line at a position of the document. */
export function numberAt(state: EditorState, position: number): number {
  return state.doc.lineAt(position).number - 1 + state.field(dressingField).firstLine;
}

function changed(update: ViewUpdate): boolean {
  return update.startState.field(dressingField) !== update.state.field(dressingField);
}

const lines = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;

    constructor(view: EditorView) {
      this.decorations = dressedLines(view);
    }

    update(update: ViewUpdate): void {
      if (update.docChanged || update.viewportChanged || changed(update)) {
        this.decorations = dressedLines(update.view);
      }
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

function dressedLines(view: EditorView): DecorationSet {
  const dressing = view.state.field(dressingField);
  const builder = new RangeSetBuilder<Decoration>();
  for (const { from, to } of view.visibleRanges) {
    for (let at = from; at <= to;) {
      const line = view.state.doc.lineAt(at);
      const number = line.number - 1 + dressing.firstLine;
      const attributes: Record<string, string> = { "data-line": String(number) };
      const linked = dressing.linked.has(number) ? "linked" : "";
      const hottest = dressing.heat?.get(number)?.hottest ? "hottest" : "";
      const classes = [dressing.marks.get(number), dressing.lit.get(number), linked, hottest];
      attributes["class"] = classes.filter(Boolean).join(" ");
      builder.add(line.from, line.from, Decoration.line({ attributes }));
      if (dressing.underlined?.line === number) {
        const { column } = dressing.underlined;
        const [text] = /^(?:[\w.]+|\S)/.exec(line.text.slice(column - 1)) ?? [""];
        const mark = Decoration.mark({ class: `finding-caret ${dressing.marks.get(number)}` });
        const start = line.from + column - 1;
        if (column > 0 && text) builder.add(start, start + text.length, mark);
      }
      at = line.to + 1;
    }
  }
  return builder.finish();
}

class HeatMarker extends GutterMarker {
  constructor(readonly heat: Heat) {
    super();
  }

  override eq(other: HeatMarker): boolean {
    return other.heat === this.heat;
  }

  override toDOM(): HTMLElement {
    const cell = document.createElement("span");
    cell.className = "heat-cell";
    cell.title = this.heat.title;
    if (this.heat.share !== null) {
      const bar = document.createElement("span");
      bar.className = "heat-bar";
      bar.style.inlineSize = `${Math.max(0, Math.min(1, this.heat.share)) * 100}%`;
      cell.append(bar);
    }
    const text = document.createElement("span");
    text.className = "heat-text";
    text.textContent = this.heat.text;
    cell.append(text);
    return cell;
  }
}

const heatGutter = gutter({
  class: "heat",
  lineMarker(view, line) {
    const heat = view.state.field(dressingField).heat?.get(numberAt(view.state, line.from));
    return heat ? new HeatMarker(heat) : null;
  },
  lineMarkerChange: changed,
});

const fileNumbers = lineNumbers({
  formatNumber: (number, state) =>
    String(number - 1 + (state.field(dressingField, false)?.firstLine ?? 1)),
});

/** The number of the line with most heat; null where no heat says so. */
export function hottestLine(heat: ReadonlyMap<number, Heat> | null | undefined): number | null {
  for (const [line, { hottest }] of heat ?? []) if (hottest) return line;
  return null;
}

export const dressing: Extension = [dressingField, fileNumbers, heatGutter, lines];
