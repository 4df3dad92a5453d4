// What a timeline draws: for each thread a row of marks, one of compilations, one of launches; for
// each stream of a device its executions; slices that overlap in lanes below each other.

import { shortText } from "../data/format";
import { page, type Table } from "../data/page";
import type { Column, Mark, SliceColumns, Track } from "../data/types";
import { kernelName } from "./text";

export type RowKind = "mark" | "compile" | "launch" | "device";

interface Slices {
  readonly count: number;
  readonly begin: Float64Array;
  readonly end: Float64Array;
}

export interface Row extends Slices {
  readonly kind: RowKind;
  readonly label: string;
  /** The row of columns behind each slice of launches and executions. */
  readonly indices: Uint32Array | null;
  readonly columns: SliceColumns | null;
  /** Places in the report's device names, by row of the columns; of executions. */
  readonly names: Column | null;
  readonly marks: readonly Mark[];
  /** Variants behind the slices of compilations. */
  readonly variants: readonly number[];
  /** The table of launches and executions; null of other rows. */
  readonly table: Table | null;
  /** Rows of the table's bins that count this row's slices; empty where all are on the page. */
  readonly bins: Uint32Array;
  readonly lane: Uint8Array;
  /** The latest end up to each slice: sorted, so that a search finds what reaches into a view. */
  readonly reach: Float64Array;
  readonly lanes: number;
}

export interface Slice {
  readonly row: Row;
  readonly index: number;
}

const MOST_LANES = 4;
const NOUNS: Readonly<Record<RowKind, readonly [string, string]>> = {
  mark: ["mark", "marks"],
  compile: ["compilation", "compilations"],
  launch: ["launch", "launches"],
  device: ["execution", "executions"],
};

export function rowNouns(row: Row): readonly [one: string, many: string] {
  return NOUNS[row.kind];
}

/** The name of the function that an execution ran; null of anything else. */
export function deviceName({ row, index }: Slice): string | null {
  const place = row.names?.[row.indices?.[index] ?? -1] ?? -1;
  return page.report.device_names[place] ?? null;
}

/** The library of the function that an execution without a known kernel ran; else null. */
export function deviceKind({ row, index }: Slice): string | null {
  const place = row.names?.[row.indices?.[index] ?? -1] ?? -1;
  return page.report.device_kinds[place] ?? null;
}

/** The kernel of a slice, or -1. */
export function sliceKernel({ row, index }: Slice): number {
  if (row.indices && row.columns) return row.columns.kernel[row.indices[index] ?? -1] ?? -1;
  return page.report.variants[row.variants[index] ?? -1]?.kernel ?? -1;
}

export function sliceName(slice: Slice): string {
  const { row, index } = slice;
  if (row.kind === "mark") return shortText(row.marks[index]?.name);
  const kernel = sliceKernel(slice);
  const other = kernel < 0 ? deviceName(slice) : null;
  const name = other === null ? kernelName(kernel) : shortText(other);
  return row.kind === "compile" ? `compile ${name}` : name;
}

/** Rows from top to bottom: of one run, or of all where `run` is null; devices come first. */
export function timelineRows(run: number | null = null): Row[] {
  const { report, launches, device, bins } = page;
  const count = report.tracks.length;
  const launchRows = rowsByTrack(launches.track, count);
  const deviceRows = rowsByTrack(device.track, count);
  const binRows = (table: Table): Uint32Array<ArrayBuffer>[] =>
    rowsByTrack(bins[table]?.track ?? [], count);
  const [launchBins, deviceBins] = [binRows("launches"), binRows("gpu_kernels")];
  const runs = new Set(report.tracks.map((track) => track.run));
  const order = report.tracks
    .map((_, index) => index)
    .filter((index) => run === null || trackOf(index).run === run)
    .sort((a, b) => rank(a) - rank(b) || a - b);
  const workers = new Map<number, number[]>();
  return [
    ...order.flatMap((index) => {
      const track = trackOf(index);
      const prefix = runs.size > 1 ? `${report.runs[track.run]?.label ?? ""} ` : "";
      if (track.kind !== "host") {
        const rows = columnRows(
          "device",
          prefix + track.label,
          device,
          deviceRows[index],
          deviceBins[index],
        );
        return rows.map((row) => ({ ...row, names: device.name }));
      }
      const marks = report.marks
        .filter((mark) => mark.run === track.run && mark.thread === track.thread)
        .sort((a, b) => a.begin - b.begin);
      const ran = columnRows(
        "launch",
        prefix + track.label,
        launches,
        launchRows[index],
        launchBins[index],
      );
      if (!marks.length && !ran.length) {
        workers.set(track.run, [...(workers.get(track.run) ?? []), index]);
        return [];
      }
      const thread = track.thread ?? "";
      return [
        ...rowOf(
          "mark",
          `${prefix}marks ${thread}`,
          marks,
          (at) => marks[at]?.begin ?? 0,
          (at) => marks[at]?.duration ?? 0,
          { marks },
        ),
        ...compileRow(`${prefix}compile ${thread}`, [index]),
        ...ran,
      ];
    }),
    ...[...workers].flatMap(([of, tracks]) => {
      const prefix = runs.size > 1 ? `${report.runs[of]?.label ?? ""} ` : "";
      return compileRow(`${prefix}compile workers`, tracks);
    }),
  ];
}

function trackOf(index: number): Track {
  return page.report.tracks[index] as Track;
}

/** Runs in their order; of each, devices before threads. */
function rank(index: number): number {
  const { run, kind } = trackOf(index);
  return 2 * run + Number(kind === "host");
}

/** Compilations of some threads, side by side where they were at once. */
function compileRow(label: string, tracks: readonly number[]): Row[] {
  const compiles = page.report.compiles
    .filter((each) => tracks.includes(each[3]))
    .sort((a, b) => a[1] - b[1]);
  return rowOf(
    "compile",
    label,
    compiles,
    (at) => compiles[at]?.[1] ?? 0,
    (at) => compiles[at]?.[2] ?? 0,
    { variants: compiles.map(([variant]) => variant) },
  );
}

const NOTHING = {
  table: null,
  indices: null,
  columns: null,
  names: null,
  marks: [],
  variants: [],
  bins: new Uint32Array(0),
};

/** A row of slices in order of time; none where there are neither slices nor bins. */
function rowOf(
  kind: RowKind,
  label: string,
  { length: count }: ArrayLike<unknown>,
  beginOf: (place: number) => number,
  durationOf: (place: number) => number,
  more: Partial<Row>,
): Row[] {
  if (!count && !more.bins?.length) return [];
  const begin = Float64Array.from({ length: count }, (_, place) => beginOf(place));
  const end = begin.map((from, place) => from + durationOf(place));
  const slices = { count, begin, end };
  return [{ ...NOTHING, kind, label, ...slices, ...inLanes(slices), ...more }];
}

function columnRows(
  kind: RowKind,
  label: string,
  columns: SliceColumns,
  indices = new Uint32Array(0),
  bins = new Uint32Array(0),
): Row[] {
  const of = (column: Column) => (place: number) => column[indices[place] as number] as number;
  const table: Table = kind === "device" ? "gpu_kernels" : "launches";
  const more = { indices, columns, table, bins };
  return rowOf(kind, label, indices, of(columns.begin), of(columns.duration), more);
}

/** For each track the places in the column that hold it, in order. */
function rowsByTrack(column: ArrayLike<number>, tracks: number): Uint32Array<ArrayBuffer>[] {
  const rows: number[][] = Array.from({ length: tracks }, () => []);
  for (let row = 0; row < column.length; row += 1) rows[column[row] as number]?.push(row);
  return rows.map((own) => Uint32Array.from(own));
}

function inLanes({ count, begin, end }: Slices): Pick<Row, "lane" | "reach" | "lanes"> {
  const lane = new Uint8Array(count);
  const reach = new Float64Array(count);
  const ends: number[] = [];
  let latest = -Infinity;
  for (let index = 0; index < count; index += 1) {
    const [from, to] = [begin[index] as number, end[index] as number];
    let free = ends.findIndex((last) => last <= from);
    if (free < 0) free = Math.min(ends.length, MOST_LANES - 1);
    ends[free] = Math.max(ends[free] ?? -Infinity, to);
    lane[index] = free;
    latest = Math.max(latest, to);
    reach[index] = latest;
  }
  return { lane, reach, lanes: Math.max(1, ends.length) };
}

/** First place in a sorted array whose value is at least `value`. */
export function lowerBound(sorted: Float64Array | Uint32Array, value: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] as number) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Calls `visit` for each slice of a row that reaches into a part of the timeline. */
export function eachInView(
  row: Row,
  { begin, end }: { readonly begin: number; readonly end: number },
  visit: (index: number, from: number, to: number) => void,
): void {
  const last = lowerBound(row.begin, end);
  for (let index = lowerBound(row.reach, begin); index < last; index += 1) {
    const to = row.end[index] as number;
    if (to >= begin) visit(index, row.begin[index] as number, to);
  }
}
