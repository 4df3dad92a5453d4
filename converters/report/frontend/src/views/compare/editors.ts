// What two codes side by side need of their editors: room where the other side has lines that this
// one lacks, and scrolling together.

import { StateEffect } from "@codemirror/state";
import { Decoration, EditorView, WidgetType } from "@codemirror/view";

import type { Pane } from "./aligned";

const look = EditorView.theme({
  ".compare-missing": {
    background: "repeating-linear-gradient(135deg, var(--line) 0 1px, transparent 1px 6px)",
  },
});

/** Pixels of a line, to begin with: the editor measures what is shown. */
const LINE = 20;

class Spacer extends WidgetType {
  constructor(readonly lines: number) {
    super();
  }

  override eq(other: Spacer): boolean {
    return other.lines === this.lines;
  }

  override get estimatedHeight(): number {
    return this.lines * LINE;
  }

  override toDOM(): HTMLElement {
    const element = document.createElement("div");
    element.className = "compare-missing";
    element.setAttribute("aria-hidden", "true");
    element.style.blockSize = `calc(${this.lines} * 1lh)`;
    return element;
  }
}

function editorIn(host: Element | null | undefined): EditorView | null {
  const element = host?.shadowRoot?.querySelector<HTMLElement>(".cm-editor");
  return element ? EditorView.findFromDOM(element) : null;
}

/** Make room in a code where lines are missing. */
export function addSpacers(host: Element | null | undefined, pane: Pane): void {
  const view = editorIn(host);
  if (!view || !pane.spacers.length) return;
  const { doc } = view.state;
  const ranges = pane.spacers.map(([line, count]) => {
    const past = line > doc.lines;
    const at = past ? doc.length : doc.line(line).from;
    const widget = new Spacer(count);
    return Decoration.widget({ widget, block: true, side: past ? 1 : -1 }).range(at);
  });
  const set = Decoration.set(ranges, true);
  view.dispatch({ effects: StateEffect.appendConfig.of([look, EditorView.decorations.of(set)]) });
}

/** Scroll both together; gives what ends that. */
export function scrollTogether(hosts: readonly (Element | null)[]): () => void {
  const scrollers = hosts.flatMap((host) => editorIn(host)?.scrollDOM ?? []);
  // what was set here makes an event, too, and must not be answered: sides differ in their widths
  const set = new Map<HTMLElement, string>();
  const place = (element: HTMLElement): string => `${element.scrollTop} ${element.scrollLeft}`;
  const follow = (event: Event): void => {
    const from = event.currentTarget as HTMLElement;
    if (set.get(from) === place(from)) return;
    set.delete(from);
    for (const other of scrollers) {
      if (other === from) continue;
      other.scrollTop = from.scrollTop;
      other.scrollLeft = from.scrollLeft;
      set.set(other, place(other));
    }
  };
  for (const each of scrollers) each.addEventListener("scroll", follow, { passive: true });
  return () => {
    for (const each of scrollers) each.removeEventListener("scroll", follow);
  };
}
