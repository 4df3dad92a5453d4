// The access map: one slice of a tensor, each place colored by how often it is accessed, by its
// value, or by which programs share it.

import { useMemo, useState } from "preact/hooks";
import { type ColorName, type Colors, heatColor, type Rgb, rgbOf } from "../../parts/colors";
import { CellMap, cellsIn, type Paint, type Ring } from "../../parts/cell_map";
import { binsOf, type Counts, MOST_BINS } from "../../accesses/counts";
import { formatCount } from "../../data/format";
import { type Span } from "../../data/tensors";
import { isInside, type Look, offsetAt, placeOf } from "../../accesses/look";
import { SECTOR } from "../../accesses/warp";
import type { AxisNames } from "../../parts/map_axes";
import { accessHeat, mapColors } from "./map_colors";
import type { Scene, Touched } from "./scene";

interface AccessMapProps {
  readonly scene: Scene;
  readonly label: string;
  readonly height: number;
  readonly id?: string;
  /** The tooltip of a place. */
  describe(offset: number): string;
  onElement(offset: number | null): void;
}

export function AccessMap({ scene, describe, onElement, ...props }: AccessMapProps) {
  const { look, slice, element, marks, counts } = scene;
  const rows = shownRows(scene);
  const [sampled, setSampled] = useState(false);
  const rings = useMemo(
    () => [
      ...marks.flatMap(({ offset }) => ringAt(scene, offset, "error")),
      ...(element === null ? [] : ringAt(scene, element, "accent")),
    ],
    [scene],
  );
  const names = useMemo(() => axisNames(look), [look]);
  const boxes = useMemo(
    () =>
      (scene.tiles ?? []).map(({ rows, columns, programs }) => ({
        rows,
        columns,
        name: `${programs[0]}${programs.length > 1 ? ` +${programs.length - 1}` : ""}`,
      })),
    [scene.tiles],
  );
  const painter = useMemo(
    () => (rows: Span, columns: Span, colors: Colors) =>
      painted(scene, rows, columns, colors, setSampled),
    [scene],
  );
  const [row, column] = (element === null ? null : placeOf(look, element)) ?? [];
  return (
    <>
      <CellMap
        {...props}
        rows={rows}
        columns={look.columns.size}
        rings={rings}
        boxes={boxes}
        {...(props.id && { names })}
        chosen={row === undefined || column === undefined ? null : [row, column]}
        {...(!counts.dense && { mostBins: MOST_BINS })}
        resetOn={look}
        painter={painter}
        describe={(row, column) => describe(offsetAt(look, row, column, slice))}
        onChoose={(row, column) => onElement(offsetAt(look, row, column, slice))}
        onLeave={() => onElement(null)}
      />
      {sampled ? (
        <p class="small muted">Some regions were derived from a sample of their rows.</p>
      ) : null}
    </>
  );
}

/** What goes down and across: axes of the tensor, or the rows that it was wrapped into. */
function axisNames({ axes, order, wrapped }: Look): AxisNames {
  const named = (back: -1 | -2, else_: string): string => {
    const axis = order.at(back);
    if (axis === undefined) return else_;
    return wrapped ? else_ : `dim ${axis} (${formatCount(axes[axis]?.size)})`;
  };
  const [columns] = [axes[order.at(-1) ?? -1]?.size ?? 1];
  return {
    rows: named(-2, wrapped ? `rows of ${formatCount(columns)} elements` : "one row"),
    columns: named(-1, "elements of a row"),
  };
}

function ringAt({ look, slice }: Scene, offset: number, color: ColorName): Ring[] {
  const [row, column, own] = placeOf(look, offset) ?? [];
  if (row === undefined || column === undefined || (look.slices && own !== slice)) return [];
  return [{ row, column, color }];
}

const MOST_BESIDE = 24;

/** The look's rows, and those before and after it that accesses or marks go to. */
function shownRows({ look, counts, lanes, marks }: Scene): readonly [number, number] {
  const { rows, columns } = look;
  if (look.slices || rows.stride < columns.stride * columns.size) return [0, rows.size];
  const offsets = [...marks.map(({ offset }) => offset), counts.first, counts.last];
  if (lanes && counts.total === 0) offsets.push(lanes.first, lanes.last);
  const places = offsets
    .filter(Number.isFinite)
    .map((at) => Math.floor((at - look.start) / rows.stride));
  return [
    Math.max(-MOST_BESIDE, Math.min(0, ...places)),
    Math.min(rows.size + MOST_BESIDE, Math.max(rows.size, ...places.map((row) => row + 1))),
  ];
}

function painted(
  scene: Scene,
  rows: Span,
  columns: Span,
  colors: Colors,
  tell: (sampled: boolean) => void,
): Paint {
  const { look, slice, values, color, subsets } = scene;
  const region = { slice, rows, columns };
  const { counts, sampled } = binsOf(scene.counts, look, region);
  tell(sampled);
  const context = scene.context && binsOf(scene.context, look, region).counts;
  const lanes = scene.lanes && binsOf(scene.lanes, look, region).counts;
  // accesses of an element, on average over each bin
  const shares = counts.map((count, bin) => count / cellsIn(rows, columns, bin));
  const most = scene.counts.most ?? shares.reduce((most, share) => Math.max(most, share), 0);
  const meant = mapColors();
  const moved = movedInVain(scene.context ?? scene.counts, scene.touched);
  const heat = Array.from({ length: 256 }, (_, step) => rgbOf(heatColor(step / 255)));
  const named = (name: ColorName): Rgb => rgbOf(colors[name]);
  const hot = (share: number): Rgb =>
    heat[Math.round(255 * Math.min(Math.max(share, 0), 1))] ?? named("error");
  const [least, range] = [values?.min ?? 0, (values?.max ?? 0) - (values?.min ?? 0)];
  return (bin, row, column) => {
    const offset = offsetAt(look, row, column, slice);
    const count = shares[bin] ?? 0;
    if (row < 0 || row >= look.rows.size || !isInside(look, offset))
      return count > 0 ? rgbOf(meant.outside) : null;
    if (values && color === "value") {
      const value = values.at(offset * scene.touched.unit) ?? NaN;
      const own = Number.isNaN(value)
        ? rgbOf(meant.nan)
        : hot(range ? (value - least) / range : 0.5);
      return count > 0 ? own : pale(own, named("back"));
    }
    if (count > 0 && subsets) return rgbOf(subsetColor(subsets.which[offset - subsets.low] ?? 0));
    if (count > 0) return hot(accessHeat(count, most));
    if (lanes?.[bin]) return rgbOf(meant.masked);
    if (context?.[bin]) return rgbOf(meant.context);
    return rgbOf(moved(offset) ? meant.wasted : meant.untouched);
  };
}

/** Whether a unit lies in a sector of which something is accessed; false where it is not known. */
function movedInVain(
  { dense }: Counts,
  { unit, argument, warps }: Touched,
): (offset: number) => boolean {
  if (!dense || !warps || unit >= SECTOR) return () => false;
  const many = SECTOR / unit;
  const shift = Math.floor((argument?.offset_bytes ?? 0) / unit) % many;
  return (offset) => {
    const first = offset - ((((offset + shift) % many) + many) % many);
    for (let at = first; at < first + many; at += 1) if (dense.counts[at - dense.low]) return true;
    return false;
  };
}

/** Each subset a golden angle further round the colors. */
export function subsetColor(subset: number): string {
  const part = (shift: number): number =>
    Math.round(128 + 96 * Math.cos(2 * Math.PI * (0.618 * subset + shift / 3)));
  return `rgb(${part(0)} ${part(1)} ${part(2)})`;
}

/** What is not accessed stays in the background. */
function pale(own: Rgb, ground: Rgb): Rgb {
  const part = (at: 0 | 1 | 2): number => Math.round(0.25 * own[at] + 0.75 * ground[at]);
  return [part(0), part(1), part(2)];
}
