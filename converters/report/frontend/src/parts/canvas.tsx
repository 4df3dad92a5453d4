// A canvas that is drawn in device pixels, in the theme's colors, and again when its size, the
// theme or what it shows changes.

import type { CanvasHTMLAttributes, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { theme } from "../app/theme";
import { type Colors, themeColors } from "./colors";

export interface Drawing {
  readonly context: CanvasRenderingContext2D;
  /** Size in CSS pixels, which is what `context` is scaled to. */
  readonly width: number;
  readonly height: number;
  /** Device pixels of a CSS pixel. */
  readonly ratio: number;
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
  // before the next frame, not after it
  useLayoutEffect(() => {
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
  const [wide, tall] = [Math.round(width * ratio), Math.round(height * ratio)];
  // another size, even the same one, makes a new bitmap
  if (canvas.width !== wide) canvas.width = wide;
  if (canvas.height !== tall) canvas.height = tall;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.globalAlpha = 1;
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  draw({ context, width, height, ratio, colors: themeColors() });
}

/** Widths of texts in the font that all canvases begin with. */
const WIDTHS = new Map<string, number>();
const MOST_WIDTHS = 20_000;

export function textWidth(context: CanvasRenderingContext2D, text: string): number {
  let width = WIDTHS.get(text);
  if (width === undefined) {
    if (WIDTHS.size > MOST_WIDTHS) WIDTHS.clear();
    width = context.measureText(text).width;
    WIDTHS.set(text, width);
  }
  return width;
}

/** Fewer characters of a longer text than these say nothing. */
const FEWEST = 3;

/** As much of a text as fits into `width` CSS pixels, with an ellipsis; "" where little would. */
export function clippedText(
  context: CanvasRenderingContext2D,
  text: string,
  width: number,
): string {
  const whole = textWidth(context, text);
  if (whole <= width) return text;
  // characters are about as wide as each other: nearly as many fit as the share says
  let shown = Math.min(Math.ceil((text.length * width) / whole), text.length - 1);
  while (shown >= FEWEST && textWidth(context, `${text.slice(0, shown)}…`) > width) shown -= 1;
  return shown >= FEWEST ? `${text.slice(0, shown).trimEnd()}…` : "";
}
