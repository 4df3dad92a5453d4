// Draws a timeline's rows: single slices, or where there are too many, columns of one pixel.

import { formatNanoseconds, niceStep, plural } from "../data/format";
import { page } from "../data/page";
import { clippedText, type Drawing, textWidth } from "./canvas";
import { kernelColor, kindColor } from "./colors";
import { kernelName } from "./text";
import { type Arrow, arrowsOf, drawArrow } from "./timeline_arrows";
import { Bitmap, ColorSlots } from "./timeline_bitmap";
import { PixelColumns } from "./timeline_columns";
import {
  keyCount,
  keyKernel,
  keyKind,
  lowerBound,
  type Row,
  rowNouns,
  type Slice,
  sliceKey,
  sliceName,
} from "./timeline_rows";
import { SliceTree, type Visit } from "./timeline_tree";

export interface Range {
  readonly begin: number;
  readonly end: number;
}

/** What of the timeline is shown, and how. */
export interface Shown {
  readonly range: Range;
  readonly selected: Slice | null;
  /** The slice under the pointer. */
  readonly hovered: Slice | null;
  /** The highlighted kernel; null where none is. */
  readonly only: number | null;
}

const NARROWEST_GUTTER = 80;
const WIDEST_GUTTER = 210;
/** Labels leave most of a phone's width to the slices. */
const GUTTER_SHARE = 0.28;
const AXIS = 24;
const LANE = 18;
const GAP = 8;
/** Taller than this no browser's canvas can be relied upon. */
const TALLEST = 16_000;
/** What is not highlighted, where something is. */
const DIMMED = 0.18;
/** With more slices than this in view, a row is drawn as columns. */
const MOST_SINGLE = 4000;
/** Up to so many arrows in view are all drawn; else those of the slice that is pointed at or chosen. */
const MOST_ARROWS = 60;
/** Bins narrower than this many pixels are drawn in place of the launches that are on the page. */
const BIN_PIXELS = 24;
const NARROWEST_LABEL = 28;
/** So many steps from the beginning on ticks are counted from there. */
const MOST_STEPS = 2000;
/** A slice is hit from this many pixels away. */
const SLACK = 3;

export class TimelineScene {
  readonly height: number;
  readonly rows: readonly Row[];
  readonly tops: readonly number[];
  /** Room for labels; known once it was drawn. */
  gutter = NARROWEST_GUTTER;
  width = 0;
  /** What is not drawn one by one. */
  notes: string[] = [];

  /** Rows that there is no room for are left out; `leftOut` counts them. */
  readonly leftOut: number;
  private readonly trees = new Map<Row, SliceTree>();
  private slots: ColorSlots | null = null;

  constructor(rows: readonly Row[]) {
    const tops: number[] = [];
    let top = AXIS;
    for (const row of rows) {
      const next = top + row.lanes * LANE + GAP;
      if (next > TALLEST) break;
      tops.push(top);
      top = next;
    }
    this.tops = tops;
    this.rows = rows.slice(0, tops.length);
    this.leftOut = rows.length - tops.length;
    this.height = top;
  }

  /** Pixels a nanosecond. */
  scale(range: Range): number {
    return Math.max(this.width - this.gutter, 1) / (range.end - range.begin);
  }

  x(range: Range, time: number): number {
    return this.gutter + (time - range.begin) * this.scale(range);
  }

  /** The moment at a pixel from the left; before the range where labels are. */
  time(range: Range, x: number): number {
    return range.begin + (x - this.gutter) / this.scale(range);
  }

  /** Bins are drawn where they are narrow, and where not all slices in view are on the page. */
  isBinned(row: Row, range: Range): boolean {
    if (row.bins.length === 0) return false;
    return binWidth(row) * this.scale(range) < BIN_PIXELS || !isDetailed(row, range);
  }

  /**
   * Visit what of a row reaches into a part of the timeline: its slices, or bins in their place.
   * Groups of slices no longer than `detail` nanoseconds come as their sums by key, with `brief` as
   * those of a few keys and of the others together.
   */
  each(row: Row, range: Range, visit: Visit, detail = 0, brief = false): void {
    if (!this.isBinned(row, range)) {
      let tree = this.trees.get(row);
      if (!tree) {
        const keyOf = (index: number): number => sliceKey({ row, index });
        this.trees.set(row, (tree = new SliceTree(row, keyOf, keyCount())));
      }
      tree.each(range, detail, brief, visit);
      return;
    }
    const [bins, width] = [page.bins[row.table ?? "launches"], binWidth(row)];
    for (const bin of bins ? row.bins : []) {
      const from = (bins?.bin[bin] ?? 0) * width;
      if (from + width < range.begin || from > range.end) continue;
      const [key, count, busy] = [bins?.key[bin], bins?.count[bin], bins?.busy[bin]];
      visit(from, from + width, key ?? -1, count ?? 0, busy ?? 0, -1);
    }
  }

  draw(drawing: Drawing, shown: Shown): void {
    this.width = drawing.width;
    this.gutter = gutterWidth(drawing, this.rows);
    this.notes = this.leftOut ? [`${plural(this.leftOut, "row")} are left out: choose a run`] : [];
    this.drawAxis(drawing, shown.range);
    const [above, below] = scrolledTo(drawing);
    this.rows.forEach((row, place) => {
      const top = this.tops[place] ?? 0;
      if (top < below && top + row.lanes * LANE > above) this.drawRow(drawing, shown, row, top);
    });
    this.drawArrows(drawing, shown);
  }

  private drawAxis({ context, colors, width, height }: Drawing, range: Range): void {
    const step = niceStep(110 / this.scale(range));
    const first = Math.ceil(range.begin / step) * step;
    // far from the beginning the first tick says where that is, and the others how far behind it
    const base = Math.abs(first) / step > MOST_STEPS ? first : 0;
    context.fillStyle = colors.muted;
    context.strokeStyle = colors.line;
    context.lineWidth = 1;
    for (let tick = first; tick <= range.end; tick += step) {
      const at = Math.round(this.x(range, tick)) + 0.5;
      if (at < this.gutter) continue;
      context.beginPath();
      context.moveTo(at, AXIS - 6);
      context.lineTo(at, height);
      context.stroke();
      const label =
        base && tick === base
          ? axisLabel(tick, step, tick)
          : axisLabel(tick - base, step, range.end - base);
      const text = base && tick !== base ? `+${label}` : label;
      if (at + 60 < width) context.fillText(text, at + 3, AXIS / 2 - 2);
    }
  }

  private drawRow(drawing: Drawing, shown: Shown, row: Row, top: number): void {
    const { context, colors, width } = drawing;
    const { range } = shown;
    const height = row.lanes * LANE;
    const [first, last] = inView(row, range);
    context.save();
    context.beginPath();
    context.rect(this.gutter, top, width - this.gutter, height);
    context.clip();
    context.fillStyle = colors.track;
    context.fillRect(this.gutter, top, width - this.gutter, height);
    if (this.isBinned(row, range) || last - first > MOST_SINGLE)
      this.drawColumns(drawing, shown, row, top);
    else this.drawSlices(drawing, shown, row, top, first, last);
    context.restore();
    context.fillStyle = colors.text;
    context.fillText(clippedText(context, row.label, this.gutter - 8), 4, top + height / 2);
  }

  private drawSlices(
    drawing: Drawing,
    { range, selected, only }: Shown,
    row: Row,
    top: number,
    first: number,
    last: number,
  ): void {
    const { context, colors, width } = drawing;
    const plain = plainColor(drawing, row);
    for (let index = first; index < last; index += 1) {
      const slice = { row, index };
      const left = Math.max(this.x(range, row.begin[index] as number), this.gutter - 2);
      const right = Math.min(this.x(range, row.end[index] as number), width + 2);
      const wide = Math.max(right - left, 1);
      const at = top + (row.lane[index] as number) * LANE;
      const key = sliceKey(slice);
      context.globalAlpha = isDimmed(row, key, only) ? DIMMED : 1;
      context.fillStyle = plain ?? keyColor(key);
      context.fillRect(left, at + 1, wide > 3 ? wide - 0.5 : wide, LANE - 2);
      context.globalAlpha = 1;
      if (selected?.row === row && selected.index === index) {
        context.strokeStyle = colors.text;
        context.lineWidth = 2;
        context.strokeRect(left + 1, at + 1, Math.max(wide - 2, 1), LANE - 2);
      }
      // a mark that has no room for its name has it behind it, up to the next one
      const behind = row.kind === "mark" && wide <= NARROWEST_LABEL;
      const from = behind ? left + wide : left;
      const until = behind
        ? Math.min(width, this.x(range, followingInLane(row, index)))
        : Math.min(right, this.x(range, nextInLane(row, index, last)));
      const room = until - from;
      if (room <= NARROWEST_LABEL) continue;
      context.fillStyle = plain ? colors.text : colors["on-kernel"];
      // the row says that it compiled
      const text = row.kind === "compile" ? kernelName(key) : sliceName(slice);
      const name = clippedText(context, text, room - 8);
      context.fillText(name, from + 4, at + LANE / 2 + 0.5);
    }
  }

  /** One column a pixel: its height is the share of time that was busy, split by kernel. */
  private drawColumns(drawing: Drawing, { range, only }: Shown, row: Row, top: number): void {
    const { ratio, colors } = drawing;
    const width = Math.max(Math.round((drawing.width - this.gutter) * ratio), 1);
    const bitmap = new Bitmap(
      drawing,
      width,
      Math.round((row.lanes * LANE - 2) * ratio),
      colors.track,
    );
    const perPixel = (range.end - range.begin) / width;
    const slots = (this.slots ??= new ColorSlots());
    const columns = new PixelColumns(width, bitmap.height, perPixel, slots.count);
    let total = 0;
    const spread: Visit = (begin, end, key, count, busy) => {
      total += count;
      const [from, to] = [(begin - range.begin) / perPixel, (end - range.begin) / perPixel];
      columns.spread(from, to, slots.of(key), busy);
    };
    this.each(row, range, spread, perPixel, only === null);
    const plain = plainColor(drawing, row);
    const inks = new Uint32Array(slots.count);
    const inkOf = (slot: number): number => {
      const dimmed = isDimmed(row, slots.kernel(slot), only);
      return (inks[slot] ||= bitmap.ink(plain ?? slots.color(slot), dimmed ? DIMMED : 1));
    };
    columns.take((pixel, slot, from, to) => bitmap.fill(pixel, from, to, inkOf(slot)));
    bitmap.put(this.gutter, top + 1);
    const how = this.isBinned(row, range)
      ? `counted in bins of ${formatNanoseconds(binWidth(row))}; ${singleOnes(row)}`
      : "drawn as one column a pixel (height: share of time, split by the longest kernels; gray: others); zoom in for single ones";
    this.notes.push(`${row.label}: ${plural(total, ...rowNouns(row))} in view, ${how}`);
  }

  /** Arrows of the slice that is pointed at and of the chosen one; all in view where they are few. */
  private drawArrows(drawing: Drawing, { range, selected, hovered }: Shown): void {
    const { context, colors, width, height } = drawing;
    const strong = [selected, hovered].flatMap((slice) =>
      slice ? arrowsOf(this.rows, slice) : [],
    );
    context.save();
    context.beginPath();
    context.rect(this.gutter, 0, width - this.gutter, height);
    context.clip();
    context.lineWidth = 1;
    context.strokeStyle = context.fillStyle = colors.muted;
    for (const arrow of this.arrowsInView(range)) drawArrow(drawing, ...this.ends(range, arrow));
    context.lineWidth = 2;
    context.strokeStyle = context.fillStyle = colors.accent;
    for (const arrow of strong) drawArrow(drawing, ...this.ends(range, arrow));
    context.restore();
  }

  /** Arrows with an end in view; none where they are many. */
  arrowsInView(range: Range): Arrow[] {
    const bounds = this.rows
      .filter(({ kind }) => kind === "launch" || kind === "device")
      .map((row) => [row, ...inView(row, range)] as const);
    const count = bounds.reduce((sum, [, first, last]) => sum + last - first, 0);
    if (count > 2 * MOST_ARROWS) return [];
    const found = new Map<number, Arrow>();
    for (const [row, first, last] of bounds)
      for (let index = first; index < last; index += 1)
        for (const arrow of arrowsOf(this.rows, { row, index }))
          found.set(arrow.execution.row.indices?.[arrow.execution.index] ?? -1, arrow);
    return found.size > MOST_ARROWS ? [] : [...found.values()];
  }

  /** The ends of an arrow: from the launch's end, or where the execution begins if that is earlier. */
  private ends(range: Range, { launch, execution }: Arrow): [Point, Point] {
    const begin = execution.row.begin[execution.index] as number;
    const left = Math.min(launch.row.end[launch.index] as number, begin);
    const [from, to] = [this.middle(launch), this.middle(execution)];
    const side = Math.sign(to - from) * (LANE / 2 - 1);
    return [
      [this.x(range, left), from + side],
      [this.x(range, begin), to - side],
    ];
  }

  /** The height of a slice's middle. */
  private middle({ row, index }: Slice): number {
    const lane = row.lane[index] as number;
    return (this.tops[this.rows.indexOf(row)] ?? 0) + (lane + 0.5) * LANE;
  }

  /** The slice at a time and a height of the canvas, or the nearest within three pixels. */
  sliceAt(range: Range, time: number, y: number): Slice | null {
    const place = this.tops.findLastIndex((top) => y >= top);
    const row = this.rows[place];
    if (!row || time < range.begin || this.isBinned(row, range)) return null;
    const lane = Math.floor((y - (this.tops[place] ?? 0)) / LANE);
    const slack = SLACK / this.scale(range);
    let best: { index: number; distance: number } | null = null;
    for (let index = lowerBound(row.reach, time - slack); index < row.count; index += 1) {
      const [begin, end] = [row.begin[index] as number, row.end[index] as number];
      if (begin > time + slack) break;
      const distance = Math.max(begin - time, time - end, 0);
      if (distance > slack || row.lane[index] !== lane) continue;
      if (!best || distance <= best.distance) best = { index, distance };
    }
    return best ? { row, index: best.index } : null;
  }
}

function binWidth({ table }: Row): number {
  return page.report.bin_ns[table ?? ""] ?? 1;
}

/** Whether all of a row's slices in view are on the page. */
function isDetailed({ table }: Row, { begin, end }: Range): boolean {
  const parts = page.report.detail[table ?? ""] ?? [];
  return parts.some(([low, high]) => low - 1 <= begin && end <= high + 1);
}

/** Where single ones of a row with bins are found. */
function singleOnes({ table }: Row): string {
  const parts = page.report.detail[table ?? ""]?.length ?? 0;
  return parts
    ? `single ones of ${plural(parts, "part")} of it, as of the slowest steps, are on this page: zoom in`
    : "no part of it has single ones on this page";
}

/** The heights between which the box around the canvas shows it; nothing is drawn elsewhere. */
function scrolledTo({ context, height }: Drawing): [above: number, below: number] {
  const box = context.canvas.parentElement;
  return box ? [box.scrollTop, box.scrollTop + box.clientHeight] : [0, height];
}

type Point = [x: number, y: number];

/** The first slice that may reach into a range, and the first behind it. */
function inView(row: Row, { begin, end }: Range): [first: number, last: number] {
  return [lowerBound(row.reach, begin), lowerBound(row.begin, end)];
}

/** A kernel's own color, or that of the library that an execution's function is from. */
function keyColor(key: number): string {
  const kind = keyKind(key);
  return kind === null ? kernelColor(keyKernel(key)) : kindColor(kind);
}

/** Marks and steps are of no kernel: none of them is dimmed. */
function isPlain({ kind }: Row): boolean {
  return kind === "mark" || kind === "step";
}

function isDimmed(row: Row, key: number, only: number | null): boolean {
  return only !== null && only !== key && !isPlain(row);
}

/** When the next slice of a lane begins. */
function followingInLane({ begin, count, lane }: Row, index: number): number {
  for (let next = index + 1; next < count; next += 1)
    if (lane[next] === lane[index]) return begin[next] as number;
  return Infinity;
}

/** When the next slice begins that is drawn over this one: the last lane has all that are at once. */
function nextInLane({ begin, end, lane }: Row, index: number, last: number): number {
  const until = end[index] as number;
  for (let next = index + 1; next < last && (begin[next] as number) < until; next += 1)
    if (lane[next] === lane[index]) return begin[next] as number;
  return until;
}

function plainColor({ colors }: Drawing, row: Row): string | null {
  if (row.kind === "step") return colors["accent-soft"];
  return row.kind === "mark" ? colors.mark : row.kind === "compile" ? colors.compile : null;
}

/** Room for the longest label, within bounds. */
function gutterWidth({ context, width }: Drawing, rows: readonly Row[]): number {
  const longest = Math.max(0, ...rows.map(({ label }) => textWidth(context, label)));
  const most = Math.min(WIDEST_GUTTER, Math.max(GUTTER_SHARE * width, NARROWEST_GUTTER));
  return Math.min(Math.max(Math.ceil(longest) + 14, NARROWEST_GUTTER), most);
}

const AXIS_UNITS = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
] as const;

/** Ticks share their unit, that of the largest, and its precision: 1.25 s, not 1.3 s twice. */
function axisLabel(tick: number, step: number, most: number): string {
  const [size, unit] = AXIS_UNITS.find(([each]) => most >= each) ?? [1, "ns"];
  const digits = Math.max(0, -Math.floor(Math.log10(step / size) + 1e-9));
  return `${(tick / size).toFixed(Math.min(digits, 9))} ${unit}`;
}
