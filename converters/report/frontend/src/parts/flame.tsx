// A flame drawing: boxes below the box that they are part of, as wide as their share of it. A view
// says which boxes there are; a table beside it says the same.

import { heatColor, inkOn, rgbOf } from "./colors";

/** Narrower boxes are seen in the box above them only. */
export const NARROWEST = 1 / 1200;
/** Narrower ones have no room for a name in a window of any size: no element is made for it. */
const NAMED = 1 / 100;
const ROW = 24;

/** A box from left to right as shares of the width. */
export interface FlameBox {
  readonly key: string;
  readonly depth: number;
  readonly left: number;
  readonly width: number;
  readonly label: string;
  readonly title: string;
  /** How much of the largest in view it has, from 0 to 1. */
  readonly heat: number;
  /** A class, such as "chosen". */
  readonly mark: string;
  onClick(): void;
}

interface FlameProps {
  /** What it shows, for those who do not see it, with its keys. */
  readonly label: string;
  readonly boxes: readonly FlameBox[];
  readonly keys: Readonly<Record<string, () => void>>;
}

export function Flame({ label, boxes, keys }: FlameProps) {
  function onKeyDown(event: KeyboardEvent): void {
    const action = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }

  const deepest = Math.max(0, ...boxes.map(({ depth }) => depth));
  return (
    <div
      class="flame"
      role="img"
      aria-label={label}
      tabIndex={0}
      style={{ blockSize: `${ROW * (1 + deepest)}px` }}
      onKeyDown={onKeyDown}
    >
      {boxes.map((box) => {
        const fill = heatColor(box.heat);
        return (
          <span
            key={box.key}
            class={box.mark}
            title={box.title}
            style={{
              insetInlineStart: `${100 * box.left}%`,
              insetBlockStart: `${ROW * box.depth}px`,
              inlineSize: `${100 * box.width}%`,
              background: fill,
              color: inkOn(rgbOf(fill)),
            }}
            onClick={box.onClick}
          >
            {box.width > NAMED && <span class="flame-name">{box.label}</span>}
          </span>
        );
      })}
    </div>
  );
}
