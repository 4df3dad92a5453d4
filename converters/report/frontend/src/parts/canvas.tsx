// A canvas that is drawn in device pixels, in the theme's colors, and again when its size, the
// theme or what it shows changes.

import type { CanvasHTMLAttributes, RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { theme } from "../app/theme";
import { type Colors, themeColors } from "./colors";

export interface Drawing {
  readonly context: CanvasRenderingContext2D;
  /** Size in CSS pixels, which is what `context` is scaled to. */
  readonly width: number;
  readonly height: number;
  readonly colors: Colors;
}

interface CanvasProps extends Omit<CanvasHTMLAttributes<HTMLCanvasElement>, "height" | "label"> {
  /** What it shows and which keys work, for those who do not see it. */
  readonly label: string;
  /** Height in CSS pixels; its width is its container's. */
  readonly height: number;
  /** Called in an animation frame; several changes make one call. */
  draw(drawing: Drawing): void;
  /** For listeners that need the element itself. */
  readonly elementRef?: RefObject<HTMLCanvasElement | null>;
}

export function Canvas({ label, height, draw, elementRef, ...rest }: CanvasProps) {
  const own = useRef<HTMLCanvasElement>(null);
  const element = elementRef ?? own;
  const latest = useRef(draw);
  latest.current = draw;
  const frame = useRef(0);
  const shown = theme.value;

  useEffect(() => {
    const canvas = element.current;
    if (!canvas) return undefined;
    const observer = new ResizeObserver(() => schedule(canvas, frame, latest));
    observer.observe(canvas);
    return () => {
      observer.disconnect();
      cancelAnimationFrame(frame.current);
    };
  }, []);
  useEffect(() => {
    if (element.current) schedule(element.current, frame, latest);
  }, [draw, height, shown]);

  return (
    <canvas
      {...rest}
      ref={element}
      role="img"
      aria-label={label}
      style={{ blockSize: `${height}px` }}
    />
  );
}

/** Several changes before the next frame make one drawing. */
function schedule(
  canvas: HTMLCanvasElement,
  frame: { current: number },
  latest: { readonly current: (drawing: Drawing) => void },
): void {
  if (frame.current) return;
  frame.current = requestAnimationFrame(() => {
    frame.current = 0;
    paint(canvas, latest.current);
  });
}

function paint(canvas: HTMLCanvasElement, draw: (drawing: Drawing) => void): void {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const context = canvas.getContext("2d");
  if (!context || !width || !height) return;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  draw({ context, width, height, colors: themeColors() });
}

/** At most as much of a text as fits into `width` CSS pixels. */
export function clippedText(
  context: CanvasRenderingContext2D,
  text: string,
  width: number,
): string {
  if (text.length <= 200 && context.measureText(text).width <= width) return text;
  let shown = text.slice(0, Math.max(Math.floor(width / 5), 0));
  while (shown && context.measureText(`${shown}…`).width > width) shown = shown.slice(0, -1);
  return shown ? `${shown}…` : "";
}
