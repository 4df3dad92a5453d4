// What drawings that are pointed at and moved have in common.

import type { ComponentChildren, CSSProperties } from "preact";

/** Movement in pixels from which a press is a pan and no click. */
export const CLICK = 4;

/** Right and down, by arrow key. */
export const STEPS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

interface TooltipProps {
  /** The pointer's place in a drawing of this width. */
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly children: ComponentChildren;
}

/** Below and beside the pointer; to its left where the right half begins. */
export function Tooltip({ x, y, width, children }: TooltipProps) {
  const beside: CSSProperties =
    x < width / 2 ? { insetInlineStart: `${x + 8}px` } : { insetInlineEnd: `${width - x + 8}px` };
  return (
    <div class="tooltip" style={{ insetBlockStart: `${y + 16}px`, ...beside }}>
      {children}
    </div>
  );
}
