// The access map: one slice of a tensor, to be zoomed, panned and pointed at.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";

import { Tooltip, STEPS, CLICK } from "../../parts/pointing";
import { Canvas, type Drawing } from "../../parts/canvas";
import { type Window, paintMap, shownRows, wholeWindow } from "./map_paint";
import type { Scene } from "./map_colours";
import { offsetAt, placeOf } from "./tensor";

interface MapProps {
  readonly scene: Scene;
  readonly label: string;
  readonly height: number;
  readonly id?: string;
  /** What is said of a place, for the tooltip. */
  describe(offset: number): string;
  onElement(offset: number | null): void;
}

interface Tip {
  readonly x: number;
  readonly y: number;
  readonly text: string;
}

export function AccessMap(props: MapProps) {
  const { scene, height } = props;
  const box = useRef<HTMLDivElement>(null);
  const [window, setWindow] = useState<Window | null>(null);
  const [tip, setTip] = useState<Tip | null>(null);
  const [sampled, setSampled] = useState(false);
  const press = useRef<{ x: number; y: number; window: Window; moved: boolean } | null>(null);

  // another tensor or another way of looking at it is seen whole
  useEffect(() => setWindow(null), [scene.look]);

  const draw = useCallback(
    (drawing: Drawing) => {
      const shown = window ?? wholeWindow(scene, drawing.width, drawing.height);
      setSampled(paintMap(drawing, scene, shown).sampled);
    },
    [scene, window],
  );

  function current(): Window {
    return window ?? wholeWindow(scene, box.current?.clientWidth ?? 1, height);
  }

  /** The row and column under a pointer; null beside the tensor. */
  function under(event: PointerEvent | WheelEvent): { row: number; column: number } | null {
    const shown = current();
    const row = Math.floor(shown.y + event.offsetY / shown.down);
    const column = Math.floor(shown.x + event.offsetX / shown.across);
    const [first, end] = shownRows(scene);
    const inside = row >= first && row < end && column >= 0 && column < scene.look.columns.size;
    return inside ? { row, column } : null;
  }

  function zoom(factor: number, x: number, y: number): void {
    const shown = current();
    const [across, down] = [limited(shown.across * factor), limited(shown.down * factor)];
    setWindow({
      across,
      down,
      x: shown.x + x / shown.across - x / across,
      y: shown.y + y / shown.down - y / down,
    });
  }

  function onPointerMove(event: PointerEvent): void {
    const pressed = press.current;
    if (pressed) {
      const [dx, dy] = [event.clientX - pressed.x, event.clientY - pressed.y];
      pressed.moved ||= Math.abs(dx) + Math.abs(dy) >= CLICK;
      if (!pressed.moved) return;
      setTip(null);
      const from = pressed.window;
      setWindow({ ...from, x: from.x - dx / from.across, y: from.y - dy / from.down });
      return;
    }
    const place = under(event);
    if (!place) return setTip(null);
    const offset = offsetAt(scene.look, place.row, place.column, scene.slice);
    setTip({ x: event.offsetX, y: event.offsetY, text: props.describe(offset) });
  }

  function onPointerUp(event: PointerEvent): void {
    const pressed = press.current;
    press.current = null;
    if (!pressed || pressed.moved) return;
    const place = under(event);
    props.onElement(place && offsetAt(scene.look, place.row, place.column, scene.slice));
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const width = box.current?.clientWidth ?? 1;
    const actions: Record<string, () => void> = {
      "+": () => zoom(1.5, width / 2, height / 2),
      "=": () => zoom(1.5, width / 2, height / 2),
      "-": () => zoom(1 / 1.5, width / 2, height / 2),
      "0": () => setWindow(null),
      Escape: () => props.onElement(null),
    };
    const step = STEPS[event.key];
    if (!step && !actions[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    if (!step) actions[event.key]?.();
    else if (event.shiftKey) pan(step[0] * 40, step[1] * 40);
    else move(step[0], step[1]);
  }

  function pan(x: number, y: number): void {
    const shown = current();
    setWindow({ ...shown, x: shown.x + x / shown.across, y: shown.y + y / shown.down });
  }

  /** Choose the element beside the chosen one. */
  function move(right: number, below: number): void {
    const { look } = scene;
    const place = scene.element === null ? null : placeOf(look, scene.element);
    const [first, end] = shownRows(scene);
    const row = place ? place[0] + below : 0;
    const column = place ? place[1] + right : 0;
    if (row < first || row >= end || column < 0 || column >= look.columns.size) return;
    const offset = offsetAt(look, row, column, scene.slice);
    props.onElement(offset);
    const shown = current();
    const [x, y] = [(column - shown.x) * shown.across, (row - shown.y) * shown.down];
    setTip({ x: Math.max(0, x), y: Math.max(0, y), text: props.describe(offset) });
  }

  return (
    <div class="launch-map" id={props.id}>
      <div class="canvas-box" ref={box}>
        <Canvas
          label={`${props.label}. Arrow keys choose an element, with Shift they move the map; plus, minus and 0 zoom.`}
          height={height}
          draw={draw}
          tabIndex={0}
          onKeyDown={onKeyDown}
          onPointerDown={(event) => {
            event.currentTarget.setPointerCapture(event.pointerId);
            press.current = { x: event.clientX, y: event.clientY, window: current(), moved: false };
          }}
          onPointerMove={onPointerMove}
          onPointerUp={onPointerUp}
          onPointerLeave={() => setTip(null)}
          onBlur={() => setTip(null)}
          onWheel={(event) => {
            // a page is scrolled with the same wheel: the map takes it once it has the focus
            if (document.activeElement !== event.currentTarget && !event.ctrlKey) return;
            event.preventDefault();
            zoom(event.deltaY < 0 ? 1.25 : 0.8, event.offsetX, event.offsetY);
          }}
        />
        {tip ? (
          <Tooltip class="launch-tip" {...tip} width={box.current?.clientWidth ?? 0}>
            {tip.text}
          </Tooltip>
        ) : null}
      </div>
      {sampled ? (
        <p class="small muted">Some regions were worked out from a sample of their rows.</p>
      ) : null}
    </div>
  );
}

function limited(pixels: number): number {
  return Math.min(Math.max(pixels, 1e-6), 96);
}
