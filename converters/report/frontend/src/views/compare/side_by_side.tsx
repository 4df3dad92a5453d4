// Two texts beside each other, what differs lit, scrolled together.

import { StateEffect } from "@codemirror/state";
import { Decoration, EditorView, WidgetType } from "@codemirror/view";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";

import { setQuery } from "../../app/router";
import { formatCount, plural } from "../../data/format";
import { Code, type Language } from "../../parts/code";
import { useKeys } from "../../parts/keys";
import type { Pane } from "./aligned";
import { type Aligned, aligned, hunkAt, litLines, type PaneName } from "./aligned";
import type { Row } from "./blocks";
import { Copy } from "../../parts/copy";

interface SideBySideProps {
  readonly rows: readonly Row[];
  readonly substitutions?: readonly (readonly [string, string])[];
  readonly language: Language;
  /** What it is, as "Source" or "TTIR". */
  readonly name: string;
  /** Text of the address for the chosen change, from 1. */
  readonly change: string | null;
}

const PANES: readonly PaneName[] = ["before", "after"];

export function SideBySide(props: SideBySideProps) {
  const { rows, language, name } = props;
  const of = useMemo(() => aligned(rows, props.substitutions), [rows, props.substitutions]);
  const wanted = Number(props.change);
  const chosen =
    Number.isInteger(wanted) && wanted > 0 && wanted <= of.hunks.length ? wanted - 1 : null;
  const box = useRef<HTMLDivElement>(null);

  useLayoutEffect(() => {
    const hosts = PANES.map((pane) => box.current?.querySelector(`#compare-${pane}`) ?? null);
    PANES.forEach((pane, place) => addSpacers(hosts[place], of[pane]));
    return scrollTogether(hosts);
  }, [of]);

  return (
    <div class="compare-sides" ref={box}>
      <Changes of={of} chosen={chosen} />
      <div class="split">
        {PANES.map((pane) => (
          <div class="split-pane" key={pane}>
            <p class="small muted">
              {pane === "before" ? "Before" : "After"}{" "}
              <Copy what={`${name} ${pane}`} text={of[pane].text} />
            </p>
            <Pane of={of} pane={pane} name={name} language={language} chosen={chosen} />
          </div>
        ))}
      </div>
    </div>
  );
}

interface PaneProps {
  readonly of: Aligned;
  readonly pane: PaneName;
  readonly name: string;
  readonly language: Language;
  readonly chosen: number | null;
}

function Pane(props: PaneProps) {
  const { of, pane, chosen } = props;
  const hunk = chosen === null ? null : (of.hunks[chosen] ?? null);
  const lit = useMemo(() => litLines(of, pane, hunk), [of, pane, hunk]);
  const linked = useMemo(
    () =>
      new Set(
        of.hunks.flatMap(({ first, end }) =>
          of.lines[pane].slice(first, end).flatMap((line) => line ?? []),
        ),
      ),
    [of, pane],
  );
  const reveal = hunk
    ? (of.lines[pane].slice(0, hunk.end).findLast((line) => line !== null) ?? null)
    : null;
  return (
    <Code
      id={`compare-${pane}`}
      text={of[pane].text}
      language={props.language}
      label={`${props.name} ${pane}. Arrow keys go from change to change`}
      firstLine={of[pane].firstLine}
      lit={lit}
      linked={linked}
      reveal={reveal}
      height="32rem"
      onChoose={(line) => choose(line === null ? null : hunkAt(of, pane, line))}
    />
  );
}

/** Choose a change, from 0. */
function choose(hunk: number | null): void {
  setQuery({ change: hunk === null ? null : hunk + 1 });
}

function Changes({ of, chosen }: { of: Aligned; chosen: number | null }) {
  const count = of.hunks.length;
  const before = (): void => choose(Math.max(0, (chosen ?? count) - 1));
  const next = (): void => choose(Math.min(count - 1, (chosen ?? -1) + 1));
  useKeys(count ? { "[": before, "]": next } : {});
  if (!count) return <p class="muted">No line differs.</p>;
  return (
    <div class="toolbar compare-changes">
      <button type="button" disabled={chosen === 0} onClick={before}>
        Previous change
      </button>
      <button type="button" disabled={chosen === count - 1} onClick={next}>
        Next change
      </button>
      <span class="muted" aria-live="polite" id="change-place">
        {chosen === null
          ? plural(count, "change")
          : `change ${formatCount(chosen + 1)} of ${formatCount(count)}`}
      </span>
    </div>
  );
}

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
function addSpacers(host: Element | null | undefined, pane: Pane): void {
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
function scrollTogether(hosts: readonly (Element | null)[]): () => void {
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
