// What the colours of the drawings of accesses mean: said once, for what is drawn and for its legend.

import type { ComponentChildren } from "preact";
import { heatColour, themeColours } from "../../parts/colours";

export interface MapColours {
  readonly outside: string;
  readonly masked: string;
  readonly context: string;
  readonly wasted: string;
  readonly untouched: string;
  readonly nan: string;
}

export function mapColours(): MapColours {
  const colours = themeColours();
  return {
    outside: colours.error,
    masked: colours["warning-soft"],
    context: colours["accent-soft"],
    wasted: colours["error-soft"],
    untouched: colours.track,
    nan: colours.mark,
  };
}

/** How hot a count is: one access is warm, and what is accessed most is hot if that is more. */
export function accessHeat(count: number, most: number): number {
  if (count < 1) return 0.15 + 0.25 * count;
  return most > 1 ? 0.4 + (0.6 * (count - 1)) / (most - 1) : 0.4;
}

export function Key(props: { colour: string; name: string; children: ComponentChildren }) {
  return (
    <span>
      <span
        class="key"
        data-key={props.name}
        aria-hidden="true"
        style={{ background: props.colour }}
      />{" "}
      {props.children}
    </span>
  );
}

/** All colours from one share of heat to another, from left to right. */
export function Scale({ from, to }: { from: number; to: number }) {
  const stops = Array.from({ length: 9 }, (_, at) => heatColour(from + ((to - from) * at) / 8));
  const background = `linear-gradient(to right, ${stops.join(", ")})`;
  return <span class="launch-scale" aria-hidden="true" style={{ background }} />;
}
