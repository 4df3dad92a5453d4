// A drawing that is zoomed, moved and pointed at, with pointer, wheel and keys.

import { useRef, useState } from "preact/hooks";
import { Canvas, type Drawing } from "./canvas";
import { type Actions } from "./keys";
import { CLICK, STEPS, Tooltip } from "./pointing";

/** What is seen: the place at the upper left, and pixels for each unit of a drawing's own. */
export interface Seen {
  readonly x: number;
  readonly y: number;
  readonly across: number;
  readonly down: number;
}

interface MovableProps {
  readonly id?: string;
  readonly label: string;
  readonly height: number;
  readonly seen: Seen;
  /** Only from left to right is it zoomed and moved. */
  readonly flat?: boolean;
  /** Pixels of a unit at least and at most. */
  readonly limits: readonly [least: number, most: number];
  draw(drawing: Drawing): void;
  /** null: all of it. */
  onSee(seen: Seen | null): void;
  /** The tooltip of a place of the drawing; null: none. */
  describe(x: number, y: number): string | null;
  onChoose(x: number, y: number): void;
  /** Arrow keys; where they are not given, they move the drawing, as they do with Shift. */
  onStep?(right: number, down: number): void;
  readonly keys: Actions;
  /** With Shift a drag marks a range from left to right, which says what it is. */
  readonly span?: {
    of(from: number, to: number): string;
    onChoose(from: number, to: number): void;
  };
}

/** Pixels of the wheel for a zoom by e; a pinch on a touchpad comes as Ctrl with small steps. */
const WHEEL = 300;
const [PINCH, PINCHED] = [50, 4];
/** Pixels of a line and of a page, in which some browsers count. */
const [LINE, PAGE] = [16, 300];

function wheelPixels({ deltaY, deltaMode, ctrlKey }: WheelEvent): number {
  if (deltaMode !== WheelEvent.DOM_DELTA_PIXEL)
    return deltaY * (deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE : PAGE);
  return ctrlKey && Math.abs(deltaY) < PINCH ? deltaY * PINCHED : deltaY;
}

export function Movable(props: MovableProps) {
  const box = useRef<HTMLDivElement>(null);
  const press = useRef<{ x: number; y: number; moved: boolean } | null>(null);
  /** Where a range began and where it ends now, in pixels of the drawing. */
  const [marked, setMarked] = useState<readonly [number, number] | null>(null);
  const [tip, setTip] = useState<{ x: number; y: number; text: string } | null>(null);
  // several events may come before the next drawing
  const now = useRef(props.seen);
  now.current = props.seen;
  const width = (): number => box.current?.clientWidth ?? 1;

  function see(seen: Seen): void {
    now.current = seen;
    props.onSee(seen);
  }

  function zoom(factor: number, x = width() / 2, y = props.height / 2): void {
    const [least, most] = props.limits;
    const limited = (pixels: number): number => Math.min(Math.max(pixels * factor, least), most);
    const old = now.current;
    const [across, down] = [limited(old.across), props.flat ? old.down : limited(old.down)];
    see({
      across,
      down,
      x: old.x + x / old.across - x / across,
      y: old.y + y / old.down - y / down,
    });
  }

  function pan(x: number, y: number): void {
    const { across, down, ...old } = now.current;
    see({ across, down, x: old.x + x / across, y: props.flat ? old.y : old.y + y / down });
  }

  const placeOf = ({ offsetX, offsetY }: MouseEvent): readonly [number, number] => {
    const { x, y, across, down } = now.current;
    return [x + offsetX / across, y + offsetY / down];
  };

  /** The ends of the marked range, in the drawing's own units. */
  function ends([from, to]: readonly [number, number]): readonly [number, number] {
    const { x, across } = now.current;
    return [x + Math.min(from, to) / across, x + Math.max(from, to) / across];
  }

  function onPointerMove(event: PointerEvent): void {
    if (marked) {
      const next = [marked[0], event.offsetX] as const;
      setMarked(next);
      const text = props.span?.of(...ends(next)) ?? "";
      return setTip({ x: event.clientX, y: event.clientY, text });
    }
    const pressed = press.current;
    if (!pressed) {
      const text = props.describe(...placeOf(event));
      return setTip(text === null ? null : { x: event.clientX, y: event.clientY, text });
    }
    const [right, down] = [event.clientX - pressed.x, event.clientY - pressed.y];
    pressed.moved ||= Math.abs(right) + Math.abs(down) >= CLICK;
    if (!pressed.moved) return;
    setTip(null);
    pan(-right, -down);
    [pressed.x, pressed.y] = [event.clientX, event.clientY];
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = STEPS[event.key];
    const actions: Actions = {
      "+": () => zoom(1.5),
      "=": () => zoom(1.5),
      "-": () => zoom(1 / 1.5),
      "0": () => props.onSee(null),
      ...props.keys,
    };
    if (!step && !Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    if (!step || actions[event.key]) actions[event.key]?.();
    else if (props.onStep && !event.shiftKey) props.onStep(...step);
    else pan(step[0] * 50, step[1] * 50);
  }

  return (
    <div class="canvas-box movable" ref={box}>
      <Canvas
        id={props.id}
        label={props.label}
        height={props.height}
        draw={props.draw}
        tabIndex={0}
        onKeyDown={onKeyDown}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          if (props.span && event.shiftKey) return setMarked([event.offsetX, event.offsetX]);
          press.current = { x: event.clientX, y: event.clientY, moved: false };
        }}
        onPointerMove={onPointerMove}
        onPointerUp={(event) => {
          if (marked) {
            setMarked(null);
            setTip(null);
            if (Math.abs(marked[1] - marked[0]) >= CLICK) props.span?.onChoose(...ends(marked));
            return;
          }
          if (press.current && !press.current.moved) props.onChoose(...placeOf(event));
          press.current = null;
        }}
        onPointerLeave={() => setTip(null)}
        onWheel={(event) => {
          // a page is scrolled with the same wheel: the drawing takes it once it has the focus
          const { deltaX, deltaY, shiftKey, ctrlKey, metaKey } = event;
          const sideways = shiftKey || Math.abs(deltaX) > Math.abs(deltaY);
          const focused = document.activeElement === event.currentTarget;
          if (!(focused || ctrlKey || metaKey || sideways)) return;
          event.preventDefault();
          if (sideways) pan(deltaX || deltaY, 0);
          else zoom(Math.exp(-wheelPixels(event) / WHEEL), event.offsetX, event.offsetY);
        }}
      />
      {marked ? (
        <div
          class="marked-range"
          style={{
            insetInlineStart: `${Math.min(...marked)}px`,
            inlineSize: `${Math.abs(marked[1] - marked[0])}px`,
          }}
        />
      ) : null}
      {tip ? <Tooltip {...tip}>{tip.text}</Tooltip> : null}
    </div>
  );
}
