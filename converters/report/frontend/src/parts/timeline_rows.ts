// What a timeline draws: for each run its steps; for each stream of a device its executions; for
// each thread a row of marks, one of compilations, one of launches; slices that overlap in lanes
// below each other.

import { shortText } from "../data/format";
import { page, type Table } from "../data/page";
import type { Column, Mark, SliceColumns, StepTimes, Track } from "../data/types";
import { kernelName } from "./text";

export type RowKind = "step" | "mark" | "compile" | "launch" | "device";

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
  /** The number of the first step. */
  readonly firstStep: number;
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
  step: ["step", "steps"],
  mark: ["mark", "marks"],
  compile: ["compilation", "compilations"],
  launch: ["launch", "launches"],
  device: ["execution", "executions"],
};

export function rowNouns(row: Row): readonly [one: string, many: string] {
  return NOUNS[row.kind];
}

/**
 * What slices are summed and colored by: their kernel, from 0; of executions without a known one
 * their function, from `kernels.length` on; or -1. Sums of bins may also be of `OTHERS`.
 */
export function sliceKey({ row, index }: Slice): number {
  const { indices, columns, names } = row;
  if (!indices || !columns) return page.report.variants[row.variants[index] ?? -1]?.kernel ?? -1;
  const at = indices[index] as number;
  const kernel = columns.kernel[at] as number;
  if (kernel >= 0 || !names) return kernel;
  const name = names[at] ?? -1;
  return name < 0 ? -1 : page.report.kernels.length + name;
}

/** Keys are below this. */
export function keyCount(): number {
  return page.report.kernels.length + page.report.device_names.length;
}

/** The kernel of a key; -1 or `OTHERS` without one. */
export function keyKernel(key: number): number {
  return key < page.report.kernels.length ? key : -1;
}

/** The name of the function of a key without a kernel; else null. */
export function keyFunction(key: number): string | null {
  return page.report.device_names[key - page.report.kernels.length] ?? null;
}

/** The library of the function of a key without a kernel; else null. */
export function keyKind(key: number): string | null {
  return page.report.device_kinds[key - page.report.kernels.length] ?? null;
}

export function sliceName(slice: Slice): string {
  const { row, index } = slice;
  if (row.kind === "step") return `step ${row.firstStep + index}`;
  if (row.kind === "mark") return shortText(row.marks[index]?.name);
  const key = sliceKey(slice);
  const other = keyFunction(key);
  const name = other === null ? kernelName(key) : shortText(other);
  return row.kind === "compile" ? `compile ${name}` : name;
}

/** Rows from top to bottom: of one run, or of all where `run` is null; steps and devices first. */
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
  const seen = new Set<number>();
  return [
    ...order.flatMap((index) => {
      const track = trackOf(index);
      const prefix = runs.size > 1 ? `${report.runs[track.run]?.label ?? ""} ` : "";
      const steps = seen.has(track.run) ? [] : stepRow(track.run, prefix);
      seen.add(track.run);
      if (track.kind !== "host") {
        const rows = columnRows(
          "device",
          prefix + track.label,
          device,
          deviceRows[index],
          deviceBins[index],
        );
        return [...steps, ...rows.map((row) => ({ ...row, names: device.name }))];
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
        return steps;
      }
      const thread = track.thread ?? "";
      return [
        ...steps,
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

/** The steps of a run whose durations are known. */
function stepRow(run: number, prefix: string): Row[] {
  const { answer, runs } = page.report;
  const steps: StepTimes | undefined = answer?.gaps?.steps.find(
    (times) => times.run === runs[run]?.run_id,
  );
  if (!steps) return [];
  const origin = answer?.begin_ns ?? 0;
  return rowOf(
    "step",
    `${prefix}steps`,
    steps.begin,
    (at) => origin + (steps.begin[at] ?? 0),
    (at) => steps.duration_ns[at] ?? 0,
    { firstStep: steps.first },
  );
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
  firstStep: 0,
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
  const [begin, end] = [new Float64Array(count), new Float64Array(count)];
  for (let place = 0; place < count; place += 1) {
    begin[place] = beginOf(place);
    end[place] = (begin[place] as number) + durationOf(place);
  }
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
  const counts = new Uint32Array(tracks);
  for (let row = 0; row < column.length; row += 1)
    counts[column[row] as number] = (counts[column[row] as number] ?? 0) + 1;
  const rows = Array.from(counts, (count) => new Uint32Array(count));
  for (let row = column.length - 1; row >= 0; row -= 1) {
    const track = column[row] as number;
    const own = rows[track];
    if (own) own[(counts[track] = (counts[track] as number) - 1)] = row;
  }
  return rows;
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
