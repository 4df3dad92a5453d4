// The colours of a map: by accesses, by value, or by which programs share elements.

import { type ColourName, type Colours, heatColour, type Rgb, rgbOf } from "../../parts/colours";
import type { Counts } from "./counts";
import type { Mark } from "./scene";
import type { Subsets } from "./subsets";
import type { Look } from "./tensor";
import { isInside, offsetAt } from "./tensor";
import type { Values } from "./values";

export type Colouring = "count" | "value" | "programs";

export interface Scene {
  readonly look: Look;
  readonly slice: number;
  /** What is chosen; and, fainter, what it is part of. */
  readonly counts: Counts;
  readonly context: Counts | null;
  /** The same with the lanes that masks turn off. */
  readonly lanes: Counts | null;
  readonly values: Values | null;
  readonly colour: Colouring;
  /** Which elements the same programs access; null where that is not asked for. */
  readonly subsets: Subsets | null;
  /** Bytes of a unit. */
  readonly unit: number;
  /** Accesses at the hot end of the scale; null: the most of any bin. */
  readonly most: number | null;
  readonly marks: readonly Mark[];
  readonly element: number | null;
}

/** A scene in which nothing is chosen but the accesses to count. */
export const PLAIN_SCENE = {
  slice: 0,
  context: null,
  lanes: null,
  values: null,
  colour: "count",
  subsets: null,
  marks: [],
  element: null,
} as const;

/** The colour of a place, by the accesses of each element there; null: nothing is drawn. */
export type Paint = (
  row: number,
  column: number,
  count: number,
  context: number,
  lanes: number,
) => Rgb | null;

/** `most`: accesses at the hot end of the scale. */
export function painter(colours: Colours, scene: Scene, most: number): Paint {
  const { look, slice, values, unit, subsets } = scene;
  const heat = Array.from({ length: 256 }, (_, step) => rgbOf(heatColour(step / 255)));
  const named = (name: ColourName): Rgb => rgbOf(colours[name]);
  const [outside, nan, ground] = [named("error"), named("mark"), named("back")];
  const hot = (share: number): Rgb =>
    heat[Math.round(255 * Math.min(Math.max(share, 0), 1))] ?? outside;
  const [least, range] = [values?.min ?? 0, (values?.max ?? 0) - (values?.min ?? 0)];
  return (row, column, count, context, lanes) => {
    const offset = offsetAt(look, row, column, slice);
    if (row < 0 || row >= look.rows.size || !isInside(look, offset))
      return count > 0 ? outside : null;
    if (values && scene.colour === "value") {
      const value = values.at(offset * unit);
      const own =
        value === null || Number.isNaN(value) ? nan : hot(range ? (value - least) / range : 0.5);
      return count > 0 ? own : mixed(own, ground);
    }
    if (count > 0 && subsets) return rgbOf(subsetColour(subsets.which[offset - subsets.low] ?? 0));
    if (count > 0) return hot(accessHeat(count, most));
    return named(lanes > 0 ? "warning-soft" : context > 0 ? "accent-soft" : "track");
  };
}

/** How hot a count is: one access is warm, and what is accessed most is hot if that is more. */
function accessHeat(count: number, most: number): number {
  if (count < 1) return 0.15 + 0.25 * count;
  return most > 1 ? 0.4 + (0.6 * (count - 1)) / (most - 1) : 0.4;
}

/** Hues a golden angle apart; lightness keeps neighbours apart too. */
export function subsetColour(subset: number): string {
  const [hue, light] = [(subset * 137.508) % 360, 0.45 + 0.12 * (subset % 3)];
  const part = (shift: number): number => {
    const at = (shift + hue / 30) % 12;
    return Math.round(
      255 * (light - 0.6 * Math.min(light, 1 - light) * Math.max(-1, Math.min(at - 3, 9 - at, 1))),
    );
  };
  return `rgb(${part(0)} ${part(8)} ${part(4)})`;
}

/** A colour paled down: what is not accessed stays in the background. */
function mixed([red, green, blue]: Rgb, ground: Rgb): Rgb {
  const part = (own: number, back: number): number => Math.round(0.25 * own + 0.75 * back);
  return [part(red, ground[0]), part(green, ground[1]), part(blue, ground[2])];
}
