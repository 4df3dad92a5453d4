// The timeline: pointer, wheel and keys move its view; tables below say what is in view.

import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { setQuery } from "../app/router";
import { executionsOf, launchOf } from "../data/executions";
import { formatMoment, formatNanoseconds } from "../data/format";
import type { Page } from "../data/page";
import { Canvas, type Drawing } from "./canvas";
import { Tooltip } from "./pointing";
import { Choice } from "./search";
import { InView, SliceDetails } from "./timeline_in_view";
import { lowerBound, type Slice, sliceName, timelineRows } from "./timeline_rows";
import { type Range, TimelineScene } from "./timeline_scene";

/** Nothing is zoomed in further than this, in nanoseconds. */
const NARROWEST = 50;
const LABEL =
  "Timeline of launches. Plus and minus zoom, arrow keys pan, 0 shows all, brackets step through " +
  "launches, up and down go to another row, z zooms to the selection, Enter opens it. The tables " +
  "below list what is in view.";

export const TIMELINE_KEYS = [
  ["+ −", "Zoom"],
  ["← →", "Pan"],
  ["0", "Show all"],
  ["[ ]", "Previous or next slice of the row"],
  ["↑ ↓", "Another row"],
  ["z", "Zoom to the selection"],
  ["Enter", "Open the selected launch"],
  ["Shift + drag", "Zoom to a range"],
] as const;

interface Drag {
  readonly x: number;
  readonly range: Range;
  readonly marking: boolean;
  moved: boolean;
}

/**
 * `query` may hold `from` and `to`, in nanoseconds: the part that is shown; `run` and `kernel`: the
 * run that is shown, and the kernel that stands out.
 */
export function Timeline(props: { page: Page; query: URLSearchParams }) {
  const { page } = props;
  const run = placeIn(page.report.runs, props.query.get("run"));
  const only = placeIn(page.report.kernels, props.query.get("kernel"));
  const scene = useMemo(() => new TimelineScene(page, timelineRows(page, run)), [page, run]);
  const span = Math.max(page.report.span_ns, 1);
  const [range, setRange] = useState<Range>(() => rangeOf(props.query, span));
  const [settled, setSettled] = useState(range);
  const [selected, setSelected] = useState<Slice | null>(null);
  const [marked, setMarked] = useState<Range | null>(null);
  const [pointed, setPointed] = useState<{ slice: Slice; x: number; y: number } | null>(null);
  const [notes, setNotes] = useState("");
  const drag = useRef<Drag | null>(null);
  const canvas = useRef<HTMLCanvasElement | null>(null);

  useEffect(() => setSelected(null), [scene]);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(range), 120);
    return () => clearTimeout(timer);
  }, [range]);
  useEffect(() => {
    const whole = range.begin <= 0 && range.end >= span;
    const text = (value: number): string | null => (whole ? null : String(Math.round(value)));
    if (settled !== range) return;
    if (text(range.begin) === props.query.get("from") && text(range.end) === props.query.get("to"))
      return;
    setQuery({ from: text(range.begin), to: text(range.end) });
  }, [settled]);

  const related = useMemo(() => relatedSlices(scene, selected), [scene, selected]);

  const draw = useCallback(
    (drawing: Drawing) => {
      scene.draw(drawing, { range, selected, related, marked, only });
      setNotes(scene.notes.join("; ") || "Every launch in view is drawn on its own.");
    },
    [scene, range, selected, related, marked, only],
  );

  const show = (begin: number, end: number): void => setRange(bounded(begin, end, span));
  const zoom = (factor: number, at = focusTime(range, selected)): void => {
    const width = Math.min(Math.max((range.end - range.begin) * factor, NARROWEST), 1.04 * span);
    const from = at - ((at - range.begin) / (range.end - range.begin)) * width;
    show(from, from + width);
  };
  const pan = (share: number): void => {
    const shift = share * (range.end - range.begin);
    show(range.begin + shift, range.end + shift);
  };
  const showAll = (): void => show(-0.01 * span, 1.01 * span);
  const choose = (slice: Slice | null): void => {
    setSelected(slice);
    if (!slice) return;
    const begin = slice.row.begin[slice.index] as number;
    if (begin >= range.begin && begin <= range.end) return;
    const half = (range.end - range.begin) / 2;
    show(begin - half, begin + half);
  };
  const zoomToSelection = (): void => {
    if (!selected) return;
    const [begin, end] = [
      selected.row.begin[selected.index] as number,
      selected.row.end[selected.index] as number,
    ];
    const spare = Math.max(end - begin, NARROWEST);
    show(begin - spare, end + spare);
  };

  const buttons = [
    ["Zoom in", "+", () => zoom(0.5)],
    ["Zoom out", "−", () => zoom(2)],
    ["Pan left", "◀", () => pan(-0.4)],
    ["Pan right", "▶", () => pan(0.4)],
    ["Show all", "All", showAll],
  ] as const;

  function onKeyDown(event: KeyboardEvent): void {
    const actions: Record<string, () => void> = {
      "+": () => zoom(0.5),
      "=": () => zoom(0.5),
      "-": () => zoom(2),
      "0": showAll,
      ArrowLeft: () => pan(-0.2),
      ArrowRight: () => pan(0.2),
      "[": () => choose(stepped(scene, range, selected, -1)),
      "]": () => choose(stepped(scene, range, selected, 1)),
      ArrowUp: () => choose(otherRow(scene, range, selected, -1)),
      ArrowDown: () => choose(otherRow(scene, range, selected, 1)),
      z: zoomToSelection,
      Enter: () => openSlice(selected),
      Escape: () => choose(null),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(actions, event.key))
      return;
    event.preventDefault();
    actions[event.key]?.();
  }

  function onPointerDown(event: PointerEvent): void {
    drag.current = { x: event.offsetX, range, marking: event.shiftKey, moved: false };
    (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
  }

  function onPointerMove(event: PointerEvent): void {
    const held = drag.current;
    if (!held) {
      const slice = scene.sliceAt(range, event.offsetX, event.offsetY);
      setPointed(slice ? { slice, x: event.offsetX, y: event.offsetY } : null);
      return;
    }
    held.moved ||= Math.abs(held.x - event.offsetX) > 3;
    if (!held.moved) return;
    setPointed(null);
    if (held.marking) {
      const times = [scene.time(range, held.x), scene.time(range, event.offsetX)];
      setMarked({ begin: Math.min(...times), end: Math.max(...times) });
    } else {
      const shift = (held.x - event.offsetX) / scene.scale(held.range);
      show(held.range.begin + shift, held.range.end + shift);
    }
  }

  function onPointerUp(event: PointerEvent): void {
    const held = drag.current;
    drag.current = null;
    if (held && !held.moved) choose(scene.sliceAt(range, event.offsetX, event.offsetY));
    if (marked) show(marked.begin, marked.end);
    setMarked(null);
  }

  /** The plain wheel scrolls the page, unless the timeline has the focus. */
  function onWheel(event: WheelEvent): void {
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    const focused = document.activeElement === event.currentTarget;
    if (!(event.ctrlKey || event.metaKey || sideways || focused)) return;
    event.preventDefault();
    if (sideways) pan((event.deltaX || event.deltaY) / 800);
    else zoom(Math.exp(event.deltaY / 300), scene.time(range, event.offsetX));
  }

  const wheel = useRef(onWheel);
  wheel.current = onWheel;
  useEffect(() => {
    // Preact's listeners are passive for the wheel in some browsers; this one must not be.
    const listener = (event: WheelEvent): void => wheel.current(event);
    const element = canvas.current;
    element?.addEventListener("wheel", listener, { passive: false });
    return () => element?.removeEventListener("wheel", listener);
  }, []);

  return (
    <div class="timeline">
      <div class="toolbar">
        {page.report.runs.length > 1 ? (
          <Choice
            label="Run"
            value={String(run ?? "")}
            options={[
              ["", "all runs"],
              ...page.report.runs.map(({ label }, index) => [String(index), label] as const),
            ]}
            onChoose={(chosen) => setQuery({ run: chosen })}
          />
        ) : null}
        {buttons.map(([label, text, onClick]) => (
          <button key={label} type="button" aria-label={label} title={label} onClick={onClick}>
            {text}
          </button>
        ))}
        <span class="muted small">
          Drag to pan, Shift + drag or Ctrl + wheel to zoom; with the keyboard + − ← → 0 [ ] z.
        </span>
      </div>
      <div class="canvas-box">
        <Canvas
          id="timeline"
          label={LABEL}
          height={scene.height}
          draw={draw}
          elementRef={canvas}
          class={pointed ? "pointing" : ""}
          tabIndex={0}
          onKeyDown={onKeyDown}
          onPointerDown={onPointerDown}
          onPointerMove={onPointerMove}
          onPointerUp={onPointerUp}
          onPointerLeave={() => setPointed(null)}
        />
        {pointed ? (
          <Tooltip {...pointed} width={scene.width}>
            {pointedText(page, pointed.slice)}
          </Tooltip>
        ) : null}
      </div>
      <p class="muted small" id="timeline-status" aria-live="polite">
        {notes}
      </p>
      <div id="timeline-selection" aria-live="polite">
        {selected ? <SliceDetails page={page} slice={selected} /> : null}
      </div>
      <InView scene={scene} range={settled} only={only} onChoose={choose} />
    </div>
  );
}

function pointedText({ report }: Page, slice: Slice): string {
  const [begin, end] = [slice.row.begin[slice.index] ?? 0, slice.row.end[slice.index] ?? 0];
  return `${sliceName(report, slice)} · ${formatNanoseconds(end - begin)} · at ${formatMoment(begin)}`;
}

function placeIn(items: readonly unknown[], text: string | null): number | null {
  return text !== null && /^\d+$/.test(text) && Number(text) < items.length ? Number(text) : null;
}

function rangeOf(query: URLSearchParams, span: number): Range {
  const [from, to] = [Number(query.get("from") ?? NaN), Number(query.get("to") ?? NaN)];
  if (to > from) return bounded(from, to, span);
  return { begin: -0.01 * span, end: 1.01 * span };
}

/** A range of the same width that lies on the timeline, or a little beside it. */
function bounded(begin: number, end: number, span: number): Range {
  const width = Math.min(Math.max(end - begin, NARROWEST), 1.04 * span);
  const low = -0.02 * span;
  const from = Math.min(Math.max(begin, low), Math.max(1.02 * span - width, low));
  return { begin: from, end: from + width };
}

/** Where buttons and keys zoom to: the selection if it is in view, or the middle. */
function focusTime(range: Range, selected: Slice | null): number {
  const at = selected ? (selected.row.begin[selected.index] as number) : NaN;
  return at >= range.begin && at <= range.end ? at : (range.begin + range.end) / 2;
}

/** The next or previous slice of the selected row; the first in view where none is selected. */
function stepped(
  scene: TimelineScene,
  range: Range,
  selected: Slice | null,
  direction: 1 | -1,
): Slice | null {
  if (!selected) return otherRow(scene, range, null, 1);
  const { row, index } = selected;
  return { row, index: Math.min(Math.max(index + direction, 0), row.count - 1) };
}

/** The slice of the row above or below that is nearest in time to the selected one. */
function otherRow(
  scene: TimelineScene,
  range: Range,
  selected: Slice | null,
  direction: 1 | -1,
): Slice | null {
  const rows = scene.rows.filter((row) => row.count > 0);
  const launches = rows.findIndex((row) => row.kind === "launch");
  const place = selected ? rows.indexOf(selected.row) + direction : Math.max(launches, 0);
  const row = rows[Math.min(Math.max(place, 0), rows.length - 1)];
  if (!row) return null;
  const time = selected ? (selected.row.begin[selected.index] as number) : range.begin;
  return { row, index: Math.min(lowerBound(row.begin, time), row.count - 1) };
}

/** What the selected launch caused on the device, or the launch that caused the execution. */
function relatedSlices({ page, rows }: TimelineScene, selected: Slice | null): Slice[] {
  if (!selected || (selected.row.kind !== "launch" && selected.row.kind !== "device")) return [];
  const behind = selected.row.indices?.[selected.index] ?? -1;
  const forwards = selected.row.kind === "launch";
  const cause = forwards ? null : launchOf(page, behind);
  const wanted = forwards ? executionsOf(page, behind) : cause === null ? [] : [cause];
  const kind = forwards ? "device" : "launch";
  return wanted.flatMap((place) =>
    rows.flatMap((row) => {
      if (row.kind !== kind || !row.indices) return [];
      const index = lowerBound(row.indices, place);
      return row.indices[index] === place ? [{ row, index }] : [];
    }),
  );
}

function openSlice(slice: Slice | null): void {
  if (slice?.row.kind !== "launch") return;
  window.location.hash = `#/launch/${slice.row.indices?.[slice.index] ?? -1}`;
}
