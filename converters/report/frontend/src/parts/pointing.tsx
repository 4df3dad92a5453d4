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
  /** The pointer's place in the window. */
  readonly x: number;
  readonly y: number;
  readonly children: ComponentChildren;
}

/** Below and beside the pointer, or above and to its left where the window ends. */
export function Tooltip({ x, y, children }: TooltipProps) {
  const { clientWidth: width, clientHeight: height } = document.documentElement;
  const beside: CSSProperties =
    x < width / 2 ? { insetInlineStart: `${x + 8}px` } : { insetInlineEnd: `${width - x + 8}px` };
  const below: CSSProperties =
    y < (3 * height) / 4
      ? { insetBlockStart: `${y + 16}px` }
      : { insetBlockEnd: `${height - y + 8}px` };
  return (
    <div class="tooltip" style={{ ...beside, ...below }}>
      {children}
    </div>
  );
}
