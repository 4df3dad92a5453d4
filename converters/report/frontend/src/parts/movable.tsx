// A drawing that is zoomed, moved and pointed at, with a pointer, two fingers, the wheel and keys.

import { useEffect, useRef, useState } from "preact/hooks";
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

/** A place in pixels of the drawing. */
export interface Point {
  readonly x: number;
  readonly y: number;
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
  /** The pointer is over another place, or has left. */
  onPoint?(place: Point | null): void;
  /** The box shows another part of a drawing that is taller than it. */
  onScroll?(): void;
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

/** What happens elsewhere and ends a tooltip. */
const LEAVING = ["scroll", "blur", "visibilitychange", "keydown"] as const;

/** The middle of pointers, and how far two are from each other. */
function middleOf(pointers: ReadonlyMap<number, Point>): readonly [Point, spread: number] {
  const [first = { x: 0, y: 0 }, second = first] = pointers.values();
  const middle = { x: (first.x + second.x) / 2, y: (first.y + second.y) / 2 };
  return [middle, Math.hypot(first.x - second.x, first.y - second.y)];
}

function wheelPixels({ deltaY, deltaMode, ctrlKey }: WheelEvent): number {
  if (deltaMode !== WheelEvent.DOM_DELTA_PIXEL)
    return deltaY * (deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE : PAGE);
  return ctrlKey && Math.abs(deltaY) < PINCH ? deltaY * PINCHED : deltaY;
}

export function Movable(props: MovableProps) {
  const box = useRef<HTMLDivElement>(null);
  /** The pointers that are down, by id, where they were when the drawing was last moved. */
  const pressed = useRef(new Map<number, Point>());
  /** Whether they moved so far that they are no click. */
  const dragged = useRef(false);
  /** Where a range began and where it ends now, in pixels of the drawing. */
  const [marked, setMarked] = useState<readonly [number, number] | null>(null);
  /** Where the pointer is, in the window and in the drawing; what is there is asked at each drawing. */
  const [pointed, setPointed] = useState<(Point & { readonly inside: Point }) | null>(null);
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

  const placeOf = ({ x: left, y: top }: Point): readonly [number, number] => {
    const { x, y, across, down } = now.current;
    return [x + left / across, y + top / down];
  };

  /** The ends of the marked range, in the drawing's own units. */
  function ends([from, to]: readonly [number, number]): readonly [number, number] {
    const { x, across } = now.current;
    return [x + Math.min(from, to) / across, x + Math.max(from, to) / across];
  }

  function point(event: PointerEvent | null): void {
    const inside = event && { x: event.offsetX, y: event.offsetY };
    setPointed(event && inside && { x: event.clientX, y: event.clientY, inside });
    props.onPoint?.(inside);
  }

  useEffect(() => {
    if (!pointed) return undefined;
    const leave = (event: Event): void => {
      if (!(event instanceof KeyboardEvent) || event.key === "Escape") point(null);
    };
    // what is under the pointer is another thing then, or nobody looks at it
    LEAVING.forEach((type) => window.addEventListener(type, leave, true));
    return () => LEAVING.forEach((type) => window.removeEventListener(type, leave, true));
  }, [pointed === null]);

  function onPointerDown(event: PointerEvent & { readonly currentTarget: HTMLElement }): void {
    event.currentTarget.setPointerCapture(event.pointerId);
    if (props.span && event.shiftKey) return setMarked([event.offsetX, event.offsetX]);
    dragged.current = pressed.current.size > 0;
    pressed.current.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
  }

  function onPointerMove(event: PointerEvent): void {
    if (marked) {
      setMarked([marked[0], event.offsetX]);
      return point(event);
    }
    const { current: down } = pressed;
    const before = down.get(event.pointerId);
    if (!before) return point(event);
    const after = { x: event.offsetX, y: event.offsetY };
    dragged.current ||= Math.abs(after.x - before.x) + Math.abs(after.y - before.y) >= CLICK;
    if (!dragged.current) return;
    point(null);
    const [from, spread] = middleOf(down);
    down.set(event.pointerId, after);
    const [to, wider] = middleOf(down);
    pan(from.x - to.x, from.y - to.y);
    if (spread > 0 && wider > 0) zoom(wider / spread, to.x, to.y);
  }

  function onPointerUp(event: PointerEvent): void {
    if (marked) {
      setMarked(null);
      point(null);
      if (Math.abs(marked[1] - marked[0]) >= CLICK) props.span?.onChoose(...ends(marked));
      return;
    }
    const press = pressed.current.get(event.pointerId);
    pressed.current.delete(event.pointerId);
    if (press && !dragged.current) props.onChoose(...placeOf(press));
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

  const text = !pointed
    ? null
    : marked
      ? (props.span?.of(...ends(marked)) ?? null)
      : props.describe(...placeOf(pointed.inside));
  return (
    <div class="canvas-box movable" ref={box} onScroll={props.onScroll}>
      <Canvas
        id={props.id}
        label={props.label}
        height={props.height}
        draw={props.draw}
        tabIndex={0}
        onKeyDown={onKeyDown}
        onPointerDown={onPointerDown}
        onPointerMove={onPointerMove}
        onPointerUp={onPointerUp}
        onPointerCancel={(event) => {
          pressed.current.delete(event.pointerId);
          setMarked(null);
          point(null);
        }}
        onPointerLeave={() => point(null)}
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
      {pointed && text !== null ? <Tooltip {...pointed}>{text}</Tooltip> : null}
    </div>
  );
}
