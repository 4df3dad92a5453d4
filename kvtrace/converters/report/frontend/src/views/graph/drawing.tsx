// The drawing of a graph: zoomed, panned, pointed at; what it shows stands in the address.

import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { setQuery } from "../../app/router";
import { formatCount, plural } from "../../data/format";
import type { Page } from "../../data/page";
import { Canvas, type Drawing } from "../../parts/canvas";
import { CLICK, STEPS, Tooltip } from "../../parts/pointing";
import { type GraphColumns, opTitle, placeText, typeText, usersOf } from "./blocks";
import { laidOut } from "./layout";
import type { Measure } from "./measures";
import { groupValues, paintGraph, type Scene } from "./paint";
import {
  boxAt,
  type Camera,
  cameraOn,
  type Detail,
  placeOfOp,
  type Shown,
  wholeCamera,
} from "./scene";
import type { Node } from "./tree";

interface GraphDrawingProps {
  readonly page: Page;
  readonly graph: GraphColumns;
  readonly tree: Node;
  readonly measure: Measure;
  readonly found: ReadonlySet<number> | null;
  readonly chosen: number | null;
  readonly detail: Detail;
  /** "x,y,scale" of the address; null: all of it. */
  readonly seen: string | null;
}

const HEIGHT = 520;
/** Milliseconds after a movement until it stands in the address: browsers take only so many. */
const SETTLED = 150;

export function GraphDrawing(props: GraphDrawingProps) {
  const { page, graph, tree, measure, chosen, detail } = props;
  const box = useRef<HTMLDivElement>(null);
  const size = useRef({ width: 800, height: HEIGHT });
  const [tip, setTip] = useState<{ x: number; y: number; text: string } | null>(null);
  const press = useRef<{ x: number; y: number; camera: Camera; moved: boolean } | null>(null);
  const root = useMemo(() => laidOut(tree, graph), [tree, graph]);
  const users = useMemo(() => usersOf(graph), [graph]);
  const values = useMemo(() => groupValues(root, graph, measure), [root, graph, measure]);
  const [moved, setMoved] = useState<Camera | null>(null);
  const timer = useRef(0);
  const held = useMemo(() => moved ?? cameraFrom(props.seen), [moved, props.seen]);
  const latest = useRef(held);
  latest.current = held;
  // an address from elsewhere goes before where one has moved to
  useEffect(() => {
    clearTimeout(timer.current);
    setMoved(null);
    return () => clearTimeout(timer.current);
  }, [props.seen]);
  const scene = useMemo<Scene>(
    () => ({ graph, root, users, measure, values, chosen, detail, found: props.found }),
    [graph, root, users, measure, values, chosen, detail, props.found],
  );
  const draw = useCallback(
    (drawing: Drawing) => {
      size.current = drawing;
      paintGraph(drawing, scene, held ?? wholeCamera(root, drawing.width, drawing.height));
    },
    [scene, held],
  );

  const camera = (): Camera =>
    latest.current ?? wholeCamera(root, size.current.width, size.current.height);

  function see(next: Camera, others: Readonly<Record<string, null>> = {}): void {
    latest.current = next;
    setMoved(next);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(
      () => setQuery({ see: cameraText(next), ...others }),
      SETTLED,
    );
  }

  function seeAll(): void {
    clearTimeout(timer.current);
    setMoved(null);
    setQuery({ see: null });
  }

  const under = (x: number, y: number): Shown | null => boxAt(root, camera(), detail, x, y);

  function zoom(factor: number, x = size.current.width / 2, y = size.current.height / 2): void {
    const now = camera();
    const least = wholeCamera(root, size.current.width, size.current.height).scale * 0.5;
    const scale = Math.min(Math.max(now.scale * factor, least), 4);
    see({ scale, x: now.x + x / now.scale - x / scale, y: now.y + y / now.scale - y / scale });
  }

  function pan(x: number, y: number): void {
    const now = camera();
    see({ ...now, x: now.x + x / now.scale, y: now.y + y / now.scale });
  }

  function showOp(op: number | null): void {
    setQuery({ op });
    if (op !== null) seeOp(op);
  }

  /** Bring an op into view, as large as it can be read. */
  function seeOp(op: number): void {
    const { width, height } = size.current;
    const place = placeOfOp(root, op);
    const scale = Math.max(camera().scale, 0.8);
    see({
      scale,
      x: place.x + place.box.width / 2 - width / scale / 2,
      y: place.y + place.box.height / 2 - height / scale / 2,
    });
  }

  function choose(x: number, y: number): void {
    const shown = under(x, y);
    if (!shown || shown.box === root) return setQuery({ op: null });
    const { op, first } = shown.box.node;
    if (op !== null) return setQuery({ op: op === chosen ? null : op });
    // A closed group is gone into; so is an open one, at its label.
    const place = placeOfGroup(shown, camera());
    see(cameraOn(place, size.current.width, size.current.height), { detail: null });
    setTip({ x, y, text: `${shown.box.node.label}: from %${first}` });
  }

  function onPointerMove(event: PointerEvent): void {
    const pressed = press.current;
    if (!pressed) return pointAt(event.offsetX, event.offsetY);
    const [dx, dy] = [event.clientX - pressed.x, event.clientY - pressed.y];
    pressed.moved ||= Math.abs(dx) + Math.abs(dy) >= CLICK;
    if (!pressed.moved) return;
    setTip(null);
    const from = pressed.camera;
    see({ ...from, x: from.x - dx / from.scale, y: from.y - dy / from.scale });
  }

  function pointAt(x: number, y: number): void {
    const shown = under(x, y);
    if (!shown || shown.box === root) setTip(null);
    else
      setTip({
        x,
        y,
        text: described(page, graph, measure, shown.box.node, values.get(shown.box)),
      });
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = STEPS[event.key];
    const actions: Record<string, () => void> = {
      "+": () => zoom(1.5),
      "=": () => zoom(1.5),
      "-": () => zoom(1 / 1.5),
      "0": seeAll,
      Escape: () => setQuery({ op: null }),
      "]": () => showOp(Math.min((chosen ?? -1) + 1, graph.opcode.length - 1)),
      "[": () => showOp(Math.max((chosen ?? 1) - 1, 0)),
    };
    const action = actions[event.key];
    if (!step && !action) return;
    event.preventDefault();
    event.stopPropagation();
    if (step) pan(step[0] * 60, step[1] * 60);
    else action?.();
  }

  return (
    <div class="graph-drawing" id="graph-drawing">
      <div class="canvas-box" ref={box}>
        <Canvas
          label={`Ops of the graph, ${plural(graph.opcode.length, "op")}, in layers by what they read. Arrow keys move, plus, minus and 0 zoom, brackets go from op to op. The table of ops below says the same.`}
          height={HEIGHT}
          draw={draw}
          tabIndex={0}
          onKeyDown={onKeyDown}
          onPointerDown={(event) => {
            event.currentTarget.setPointerCapture(event.pointerId);
            press.current = { x: event.clientX, y: event.clientY, camera: camera(), moved: false };
          }}
          onPointerMove={onPointerMove}
          onPointerUp={(event) => {
            const pressed = press.current;
            press.current = null;
            if (pressed && !pressed.moved) choose(event.offsetX, event.offsetY);
          }}
          onPointerLeave={() => setTip(null)}
          onWheel={(event) => {
            // a page is scrolled with the same wheel: the drawing takes it once it has the focus
            if (document.activeElement !== event.currentTarget && !event.ctrlKey) return;
            event.preventDefault();
            zoom(event.deltaY < 0 ? 1.25 : 0.8, event.offsetX, event.offsetY);
          }}
        />
        {tip ? (
          <Tooltip {...tip} width={size.current.width}>
            {tip.text}
          </Tooltip>
        ) : null}
      </div>
      <div class="toolbar">
        <button type="button" class="small" onClick={() => zoom(1.5)}>
          Zoom in
        </button>
        <button type="button" class="small" onClick={() => zoom(1 / 1.5)}>
          Zoom out
        </button>
        <button type="button" class="small" onClick={seeAll}>
          Whole graph
        </button>
        {chosen === null ? null : (
          <button type="button" class="small" onClick={() => seeOp(chosen)}>
            Go to %{formatCount(chosen)}
          </button>
        )}
        <span class="muted small">
          Colours are relative to the largest box in view. Click: an op, or into a group. Blue: what
          the chosen op reads; green: what reads it. Lines from inputs are drawn for the chosen op
          only.
        </span>
      </div>
    </div>
  );
}

function cameraText({ x, y, scale }: Camera): string {
  return `${Math.round(x)},${Math.round(y)},${scale.toFixed(scale < 0.05 ? 5 : 3)}`;
}

function cameraFrom(text: string | null): Camera | null {
  const [x, y, scale] = (text ?? "").split(",").map(Number);
  if (x === undefined || y === undefined || scale === undefined) return null;
  return Number.isFinite(x) && Number.isFinite(y) && scale > 0 && scale <= 16
    ? { x, y, scale }
    : null;
}

function placeOfGroup(
  shown: Shown,
  camera: Camera,
): { x: number; y: number; width: number; height: number } {
  return {
    x: camera.x + shown.x / camera.scale,
    y: camera.y + shown.y / camera.scale,
    width: shown.box.width,
    height: shown.box.height,
  };
}

function described(
  page: Page,
  graph: GraphColumns,
  measure: Measure,
  node: Node,
  value: number | undefined,
): string {
  if (node.op === null) {
    return `${node.label}: ${plural(node.end - node.first, "op")}, ${measure.shown(value ?? 0)} (derived)`;
  }
  const { op } = node;
  const figure = `${measure.title} ${measure.shown(measure.value(graph, op))} (derived)`;
  return `${opTitle(graph, op)}: ${typeText(graph, op)}; ${figure}; ${placeText(page, graph, op)}`;
}
