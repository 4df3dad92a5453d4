// The timeline: pointer, wheel and keys move its view; tables below say what is in view.

import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { chosen, chosenNumber, go, setQuery } from "../app/router";
import { formatMoment, formatNanoseconds } from "../data/format";
import { launchNumber } from "../data/launch_numbers";
import { page } from "../data/page";
import type { Drawing } from "./canvas";
import { Movable, type Point, type Seen } from "./movable";
import { AddressChoice } from "./search";
import { KindSwatch } from "./text";
import { InView, SliceDetails } from "./timeline_in_view";
import { Minimap } from "./timeline_minimap";
import { lowerBound, type Row, type Slice, sliceName, timelineRows } from "./timeline_rows";
import { type Range, TimelineScene } from "./timeline_scene";

/** Nothing is zoomed in further than this, in nanoseconds. */
const NARROWEST = 50;
const LABEL =
  "Timeline of launches. Plus and minus zoom, arrow keys pan, 0 shows all, brackets step through " +
  "launches, up and down go to another row, z zooms to the selection, Enter opens it. The tables " +
  "below list what is in view. The keys w, s, a and d zoom and pan, too.";

export const TIMELINE_KEYS = [
  ["+ − w s", "Zoom about the center"],
  ["Ctrl + wheel, pinch", "Zoom about the pointer"],
  ["← → a d", "Pan"],
  ["Shift + drag", "Measure a range, and zoom to it"],
  ["0", "Show all"],
  ["[ ]", "Previous or next slice of the row"],
  ["↑ ↓", "Another row"],
  ["z f", "Zoom to the selection"],
  ["Enter", "Open the selected launch"],
] as const;

/** Pauses shorter than this, in ms, belong to a movement: the address and the tables follow it. */
const PAUSE = 150;

/** A part that is shown until the address, which had these values before, says another one. */
interface Moved {
  readonly range: Range;
  readonly from: string | null;
  readonly to: string | null;
}

/**
 * The address may hold `from` and `to`, in nanoseconds: the part that is shown; `run` and `kernel`: the
 * run that is shown, and the highlighted kernel; `slice`: the selected one, by row and index.
 */
export function Timeline() {
  const [run, only] = [chosenNumber("run"), chosenNumber("kernel")];
  const scene = useMemo(() => new TimelineScene(timelineRows(run)), [run]);
  const span = Math.max(page.report.span_ns, 1);
  const [from, to] = [chosen("from"), chosen("to")];
  const settled = useMemo(
    () => rangeOf(Number(from ?? NaN), Number(to ?? NaN), span),
    [from, to, span],
  );
  const [moved, setMoved] = useState<Moved | null>(null);
  const range = moved?.from === from && moved.to === to ? moved.range : settled;
  // several events may come before the next drawing
  const now = useRef(range);
  now.current = range;
  const place = chosen("slice");
  const selected = useMemo(() => sliceOf(scene.rows, place), [scene, place]);
  const [pointed, setPointed] = useState<Point | null>(null);
  const hovered = useSame(pointed && scene.sliceAt(range, scene.time(range, pointed.x), pointed.y));
  const [scrolls, setScrolls] = useState(0);
  const [notes, setNotes] = useState("");

  // the address may come back to these values
  useEffect(
    () => setMoved((old) => (old?.from === from && old.to === to ? old : null)),
    [from, to],
  );
  // of layout, since other effects end only some time after the timeline is gone
  useLayoutEffect(() => {
    if (range === settled) return undefined;
    const timer = setTimeout(() => {
      const whole = !middleSteps() && range.begin <= 0 && range.end >= span;
      const text = (time: number): number | null => (whole ? null : Math.round(time));
      setQuery({ from: text(range.begin), to: text(range.end) });
    }, PAUSE);
    return () => clearTimeout(timer);
  }, [range, settled, span]);

  const draw = useCallback(
    (drawing: Drawing) => {
      scene.draw(drawing, { range, selected, hovered, only });
      if (range === settled)
        setNotes(scene.notes.join("; ") || "Every launch in view is drawn individually.");
    },
    [scene, range, settled, selected, hovered, only, scrolls],
  );

  function show(begin: number, end: number): void {
    now.current = bounded(begin, end, span);
    setMoved({ range: now.current, from, to });
  }

  function see(seen: Seen | null): void {
    if (!seen) return show(0, span);
    const begin = seen.x + scene.gutter / seen.across;
    show(begin, seen.x + scene.width / seen.across);
  }

  function scale(factor: number): void {
    const { begin, end } = now.current;
    const [middle, half] = [(begin + end) / 2, (end - begin) / 2];
    show(middle - half * factor, middle + half * factor);
  }

  /** By a tenth of what is seen. */
  function pan(direction: 1 | -1): void {
    const { begin, end } = now.current;
    const step = (direction * (end - begin)) / 10;
    show(begin + step, end + step);
  }

  function choose(slice: Slice | null): void {
    setQuery({ slice: slice && `${scene.rows.indexOf(slice.row)}.${slice.index}` });
    const begin = slice?.row.begin[slice.index] ?? NaN;
    if (!(begin < range.begin || begin > range.end)) return;
    const half = (range.end - range.begin) / 2;
    show(begin - half, begin + half);
  }

  function zoomToSelection(): void {
    if (!selected) return;
    const { row, index } = selected;
    const [begin, end] = [row.begin[index] as number, row.end[index] as number];
    const spare = Math.max(end - begin, NARROWEST);
    show(begin - spare, end + spare);
  }

  // nothing of it is made again while the timeline is moved
  const choosing = useRef(choose);
  choosing.current = choose;
  const inView = useMemo(
    () => (
      <InView
        scene={scene}
        range={settled}
        only={only}
        onChoose={(slice) => choosing.current(slice)}
      />
    ),
    [scene, settled, only],
  );
  const across = scene.scale(range);
  const width = Math.max(scene.width - scene.gutter, 1);
  return (
    <div class="timeline" data-begin={range.begin} data-end={range.end}>
      <div class="toolbar">
        {page.report.runs.length > 1 ? (
          <AddressChoice
            label="Run"
            name="run"
            options={[
              ["", "all runs"],
              ...page.report.runs.map(({ label }, index) => [String(index), label] as const),
            ]}
            also={{ slice: null }}
          />
        ) : null}
        <button type="button" onClick={() => see(null)}>
          Show all
        </button>
        <span class="muted small">
          Drag to pan, Shift + drag to measure a range and zoom to it, pinch or Ctrl + wheel (or the
          wheel after a click) to zoom; keys: w s a d 0 [ ] f.
        </span>
      </div>
      <Minimap
        scene={scene}
        range={range}
        onMove={(time) => {
          const half = (range.end - range.begin) / 2;
          show(time - half, time + half);
        }}
      />
      <Movable
        id="timeline"
        label={LABEL}
        height={scene.height}
        draw={draw}
        flat
        onPoint={setPointed}
        onScroll={() => setScrolls((number) => number + 1)}
        seen={{ x: range.begin - scene.gutter / across, y: 0, across, down: 1 }}
        limits={[width / (1.04 * span), width / NARROWEST]}
        onSee={see}
        span={{
          of: (from, to) => `${formatNanoseconds(to - from)} from ${formatMoment(from)}`,
          onChoose: show,
        }}
        describe={() => hovered && described(hovered)}
        onChoose={(time, y) => choose(scene.sliceAt(range, time, y))}
        keys={{
          "[": () => choose(stepped(scene, range, selected, -1)),
          "]": () => choose(stepped(scene, range, selected, 1)),
          ArrowUp: () => choose(otherRow(scene, range, selected, -1)),
          ArrowDown: () => choose(otherRow(scene, range, selected, 1)),
          z: zoomToSelection,
          f: zoomToSelection,
          ...keysOf(["+", "=", "w"], () => scale(1 / 1.5)),
          ...keysOf(["-", "s"], () => scale(1.5)),
          ...keysOf(["ArrowLeft", "a"], () => pan(-1)),
          ...keysOf(["ArrowRight", "d"], () => pan(1)),
          Enter: () => openSlice(selected),
          Escape: () => choose(null),
        }}
      />
      <Kinds />
      <p class="muted small" id="timeline-status" aria-live="polite">
        {notes}
      </p>
      <div id="timeline-selection" aria-live="polite">
        {selected ? <SliceDetails slice={selected} /> : null}
      </div>
      {inView}
    </div>
  );
}

/** The colors of libraries, copies and others that have one color each. */
function Kinds() {
  const found = new Set(page.report.device_kinds);
  const own = page.report.own_kinds.filter((kind) => found.delete(kind));
  const kinds = [...found].sort();
  if (!kinds.length) return null;
  return (
    <p class="muted small kinds">
      {own.length > 0 && <span>Each {own.join(" or ")} kernel has its own color.</span>}
      {kinds.map((kind) => (
        <span key={kind}>
          <KindSwatch kind={kind} /> {kind}
        </span>
      ))}
    </p>
  );
}

/** The slice of the last time, if it is the same, so that nothing is drawn again. */
function useSame(slice: Slice | null): Slice | null {
  const last = useRef(slice);
  if (last.current?.row !== slice?.row || last.current?.index !== slice?.index)
    last.current = slice;
  return last.current;
}

function keysOf(keys: readonly string[], action: () => void): Record<string, () => void> {
  return Object.fromEntries(keys.map((key) => [key, action]));
}

/** The slice of a place as the address has it: row and index. */
function sliceOf(rows: readonly Row[], place: string | null): Slice | null {
  const [at, index] = (place?.split(".") ?? []).map(Number);
  const row = rows[at ?? -1];
  return row && index !== undefined && row.begin[index] !== undefined ? { row, index } : null;
}

function described(slice: Slice): string {
  const [begin, end] = [slice.row.begin[slice.index] ?? 0, slice.row.end[slice.index] ?? 0];
  return `${sliceName(slice)} · ${formatNanoseconds(end - begin)} · at ${formatMoment(begin)}`;
}

function rangeOf(from: number, to: number, span: number): Range {
  if (to > from) return bounded(from, to, span);
  return middleSteps() ?? { begin: -0.01 * span, end: 1.01 * span };
}

/** Steps that are shown first. */
const FIRST_STEPS = 3;

/** Three steps in the middle of the steady part, which are shown first; null without steps. */
function middleSteps(): Range | null {
  const { answer } = page.report;
  const steps = answer?.gaps?.steps[0];
  if (!steps || answer.begin_ns === null) return null;
  const first = Math.max(0, (steps.begin.length - FIRST_STEPS) >> 1);
  const last = Math.min(first + FIRST_STEPS, steps.begin.length) - 1;
  const end = (steps.begin[last] ?? 0) + (steps.duration_ns[last] ?? 0);
  return { begin: answer.begin_ns + (steps.begin[first] ?? 0), end: answer.begin_ns + end };
}

/** A range of the same width that lies on the timeline, or a little beside it. */
function bounded(begin: number, end: number, span: number): Range {
  const width = Math.min(Math.max(end - begin, NARROWEST), 1.04 * span);
  const low = -0.02 * span;
  const from = Math.min(Math.max(begin, low), Math.max(1.02 * span - width, low));
  return { begin: from, end: from + width };
}

/** The next or previous slice of the selected row; the first in view where none is selected. */
function stepped(scene: TimelineScene, range: Range, selected: Slice | null, step: 1 | -1) {
  if (!selected) return otherRow(scene, range, null, 1);
  const { row, index } = selected;
  return { row, index: Math.min(Math.max(index + step, 0), row.count - 1) };
}

/** The slice of the row above or below that is nearest in time to the selected one. */
function otherRow(scene: TimelineScene, range: Range, selected: Slice | null, step: 1 | -1) {
  const rows = scene.rows.filter((row) => row.count > 0);
  const launches = rows.findIndex((row) => row.kind === "launch");
  const place = selected ? rows.indexOf(selected.row) + step : Math.max(launches, 0);
  const row = rows[Math.min(Math.max(place, 0), rows.length - 1)];
  if (!row) return null;
  const time = selected?.row.begin[selected.index] ?? range.begin;
  return { row, index: Math.min(lowerBound(row.begin, time), row.count - 1) };
}

function openSlice(slice: Slice | null): void {
  if (slice?.row.kind !== "launch") return;
  go(`launch/${launchNumber(slice.row.indices?.[slice.index] ?? -1)}`);
}
