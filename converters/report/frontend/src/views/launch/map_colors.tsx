// What the colors of the drawings of accesses mean, for drawings and legends alike.

import type { ComponentChildren } from "preact";
import { heatColor, themeColors } from "../../parts/colors";

export interface MapColors {
  readonly outside: string;
  readonly masked: string;
  readonly context: string;
  readonly wasted: string;
  readonly untouched: string;
  readonly nan: string;
}

export function mapColors(): MapColors {
  const colors = themeColors();
  return {
    outside: colors.error,
    masked: colors["warning-soft"],
    context: colors["accent-soft"],
    wasted: colors["error-soft"],
    untouched: colors.track,
    nan: colors.mark,
  };
}

/** How hot a count is: one access is warm, and what is accessed most is hot if that is more. */
export function accessHeat(count: number, most: number): number {
  if (count < 1) return 0.15 + 0.25 * count;
  return most > 1 ? 0.4 + (0.6 * (count - 1)) / (most - 1) : 0.4;
}

export function Key(props: { color: string; name: string; children: ComponentChildren }) {
  return (
    <span>
      <span
        class="key"
        data-key={props.name}
        aria-hidden="true"
        style={{ background: props.color }}
      />{" "}
      {props.children}
    </span>
  );
}

/** All colors from one share of heat to another, from left to right. */
export function Scale({ from, to }: { from: number; to: number }) {
  const stops = Array.from({ length: 9 }, (_, at) => heatColor(from + ((to - from) * at) / 8));
  const background = `linear-gradient(to right, ${stops.join(", ")})`;
  return <span class="launch-scale" aria-hidden="true" style={{ background }} />;
}
