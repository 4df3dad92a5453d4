// Colors of a timeline's columns, and images of them: an image is drawn at once, however many parts
// its columns have.

import { page } from "../data/page";
import type { Drawing } from "./canvas";
import { kernelColor, kindColor, rgbOf } from "./colors";
import { keyCount, keyKernel, keyKind } from "./timeline_rows";

/** Most kernels that have a color of their own in columns; all others are drawn as unknown. */
const MOST_KERNELS = 1000;

/** Slots of what has a color of its own: unknown kernels, libraries, then kernels. */
export class ColorSlots {
  private readonly kinds = [...new Set(page.report.device_kinds)];
  readonly count = 1 + this.kinds.length + Math.min(page.report.kernels.length, MOST_KERNELS);

  private readonly byKey = Uint16Array.from({ length: keyCount() }, (_, key) => {
    const kernel = keyKernel(key);
    if (kernel >= 0) return kernel < MOST_KERNELS ? 1 + this.kinds.length + kernel : 0;
    return 1 + this.kinds.indexOf(keyKind(key) ?? "");
  });

  of(key: number): number {
    return this.byKey[key] ?? 0;
  }

  /** The kernel of a slot, or -1. */
  kernel(slot: number): number {
    return Math.max(slot - 1 - this.kinds.length, -1);
  }

  color(slot: number): string {
    const kind = this.kinds[slot - 1];
    return kind === undefined ? kernelColor(this.kernel(slot)) : kindColor(kind);
  }
}

/** The whole of a part of the canvas as one image, which begins as ground. */
export class Bitmap {
  private readonly image: ImageData;
  private readonly pixels: Uint32Array;

  /** Sizes are in device pixels. */
  constructor(
    private readonly drawing: Drawing,
    readonly width: number,
    readonly height: number,
    private readonly ground: string,
  ) {
    this.image = drawing.context.createImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.pixels.fill(this.ink(ground, 1));
  }

  /** A color with this opacity on the ground. */
  ink(color: string, alpha: number): number {
    return packed(this.drawing.context, color, this.ground, alpha);
  }

  /** Fill a column from a pixel to another, both counted from the bottom. */
  fill(column: number, from: number, to: number, ink: number): void {
    for (let row = from; row < to; row += 1)
      this.pixels[(this.height - 1 - row) * this.width + column] = ink;
  }

  /** Put it at a place in CSS pixels. */
  put(left: number, top: number): void {
    const { context, ratio } = this.drawing;
    context.putImageData(this.image, Math.round(left * ratio), Math.round(top * ratio));
  }
}

const PACKED = new Map<string, number>();

/** A color as the canvas has it in memory, mixed with the ground it is on. */
function packed(
  context: CanvasRenderingContext2D,
  color: string,
  ground: string,
  alpha: number,
): number {
  const name = `${color} ${ground} ${alpha}`;
  let value = PACKED.get(name);
  if (value === undefined) {
    const [own, behind] = [color, ground].map((text) => {
      context.fillStyle = text; // which gives any color back as #rrggbb
      return rgbOf(String(context.fillStyle));
    });
    const bytes = [0, 1, 2].map((part) =>
      Math.round((own?.[part] ?? 0) * alpha + (behind?.[part] ?? 0) * (1 - alpha)),
    );
    value = new Uint32Array(new Uint8Array([...bytes, 255]).buffer)[0] ?? 0;
    PACKED.set(name, value);
  }
  return value;
}
