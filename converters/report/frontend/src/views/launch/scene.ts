// What a map shows of one op: its tensor, how it is viewed, and its accesses counted.

import { chosen, chosenNumber } from "../../app/router";
import { useMemo } from "preact/hooks";
import { page } from "../../data/page";
import { indexOf, itemBytes } from "../../data/tensors";
import type { Access, Argument, Call, CallOps, Op, RecordedValue } from "../../data/types";
import { useLoaded } from "../../data/use_block";
import { useTrips } from "../../parts/loop_sliders";
import { type Executions, isKnown, lastIteration } from "../../accesses/records";
import { combsOf, type Counts, countsOf, endsOf } from "../../accesses/counts";
import type { HereFinding } from "./findings";
import {
  laneBytes,
  type Look,
  lookAt,
  type LookAsked,
  ownAxes,
  placeOf,
  unitOf,
} from "../../accesses/look";
import { chosenProgram, type Place, programNumber } from "./state";
import { type Subsets, subsetsOf } from "../../accesses/subsets";
import { type Tile, tilesOf } from "../../accesses/tiles";
import { isInTrips, tellsTrips } from "../../accesses/trips";
import { type Values, valuesOf } from "../../accesses/values";

/** All of an op's accesses of one argument. */
export interface Touched {
  readonly op: Op;
  readonly name: string;
  readonly argument: Argument | undefined;
  readonly accesses: readonly Access[];
  /** Bytes of a unit, and units that one lane covers. */
  readonly unit: number;
  readonly width: number;
  /** Units up to which accesses go. */
  readonly reach: number;
  readonly recorded: RecordedValue | null;
  /** Whether threads in warps ask for it, which a GPU serves in sectors. */
  readonly warps: boolean;
}

/** Whether a call's lanes are threads in warps; those of other devices are not. */
export function hasWarps(call: Call): boolean {
  return (page.report.variants[call.variant]?.num_warps ?? null) !== null;
}

/** The arguments that an op accesses; more than one where a pointer is chosen by data. */
export function tensorsOf(block: CallOps, op: number | null): string[] {
  const own = block.accesses.filter((access) => access.op === op);
  return [...new Set(own.flatMap(({ arg }) => arg ?? []))];
}

/**
 * What an op accesses of one argument, the one asked for or its first; null for an op that accesses
 * nothing, or nothing that was recorded.
 */
export function touchedBy(
  call: Call,
  block: CallOps,
  index: number | null,
  asked: string | null = null,
): Touched | null {
  const op = block.ops.find((each) => each.index === index);
  const names = tensorsOf(block, index);
  const name = names.find((each) => each === asked) ?? names[0] ?? op?.buffer ?? null;
  if (!op || name === null) return null;
  const accesses = block.accesses.filter((access) => access.op === index && access.arg === name);
  const argument = call.args
    .map((place) => page.report.arguments[place])
    .find((each) => each?.name === name && each?.shape);
  const lane = laneBytes(op) ?? itemBytes(op.dtype ?? argument?.dtype);
  const unit = unitOf(accesses, argument ? itemBytes(argument.dtype) : lane, lane);
  const width = Math.max(1, lane / unit);
  const last = accesses.reduce((most, access) => Math.max(most, access.last ?? 0), 0);
  const reach = Math.floor(last / unit) + width;
  const recorded = block.values.find((value) => value.name === name) ?? null;
  const warps = hasWarps(call);
  return { op, name, argument, accesses, unit, width, reach, recorded, warps };
}

/** Unless asked otherwise, rows and columns are the axes that one execution's lanes go along. */
export function lookOf(touched: Touched, asked: LookAsked): Look {
  const own = ownAxes(touched.argument, touched.unit, touched.reach);
  const look = lookAt(own, asked);
  if (asked.axes !== null || asked.shape !== null || look.axes.length < 3) return look;
  const axes = laneAxes(touched, look);
  return axes ? lookAt(own, { ...asked, axes: axes.join(",") }) : look;
}

/** All axes, those of the lanes last; null where strides do not distinguish two of them. */
function laneAxes({ accesses, unit }: Touched, look: Look): number[] | null {
  const lanes = accesses.find(isKnown)?.layout?.lanes?.filter(([extent]) => extent > 1) ?? [];
  const found = lanes.map(([, stride]) =>
    look.axes.findIndex((axis) => axis.size > 1 && axis.stride * unit === Math.abs(stride)),
  );
  if (found.length < 2 || found.includes(-1) || new Set(found).size < found.length) return null;
  return [...[...look.axes.keys()].filter((axis) => !found.includes(axis)), ...found];
}

/** The tensor's own index of an offset; null between its elements. */
export function ownIndex(touched: Touched, offset: number): number[] | null {
  return indexOf(ownAxes(touched.argument, touched.unit, touched.reach), offset);
}

/** A place to mark, as a finding's witness. */
export interface Mark {
  readonly offset: number;
  readonly text: string;
}

/** Witnesses of findings about the op, on either side of a race. */
function marksOf(findings: readonly HereFinding[], touched: Touched): Mark[] {
  return findings.flatMap(({ placed: { found, other_op }, op, own }) => {
    const here = own && (op === touched.op.index || other_op === touched.op.index);
    if (!here || found.arg !== touched.name || found.address_offset === null) return [];
    return [
      {
        offset: Math.floor(found.address_offset / touched.unit),
        text: `${found.rule}: ${found.message}`,
      },
    ];
  });
}

export type Coloring = "count" | "value" | "programs";

export interface Scene {
  readonly touched: Touched;
  /** The executions whose accesses are counted. */
  readonly wanted: Executions;
  readonly look: Look;
  readonly slice: number;
  /** What is chosen; and, fainter, what it is part of. */
  readonly counts: Counts;
  readonly context: Counts | null;
  /** The same with the lanes that masks turn off. */
  readonly lanes: Counts | null;
  readonly values: Values | null;
  readonly color: Coloring;
  /** Which elements the same programs access; null where that is not asked for. */
  readonly subsets: Subsets | null;
  /** What each program accesses; null where one is chosen, or there are too many. */
  readonly tiles: readonly Tile[] | null;
  readonly marks: readonly Mark[];
  readonly element: number | null;
}

/** A scene in which nothing is chosen but the accesses to count. */
export const PLAIN_SCENE = {
  lanes: null,
  values: null,
  color: "count",
  subsets: null,
  tiles: null,
  marks: [],
  element: null,
} as const;

interface Chosen {
  readonly scene: Scene;
  /** The last iteration of the loop around the op; null where there is none. */
  readonly last: number | null;
  /** Slices to see, those past the tensor's end among them. */
  readonly slices: number;
}

/** Each part is recomputed only where what it depends on changed. */
export function useScene(grid: Place, touched: Touched, findings: readonly HereFinding[]): Chosen {
  const last = touched.op.loop === null ? null : lastIteration(touched.accesses);
  const program = programNumber(chosenProgram(grid), grid);
  const nested = touched.accesses.some(tellsTrips);
  const iteration = last === null || nested ? null : chosenNumber("it");
  const trips = useTrips();
  const here = useMemo(
    () =>
      nested && trips.size
        ? { ...touched, accesses: touched.accesses.filter((each) => isInTrips(each, trips)) }
        : touched,
    [touched, nested, trips],
  );
  const wanted = useMemo(() => ({ program, iteration }), [program, iteration]);
  const asked = { shape: chosen("shape"), axes: chosen("axes"), at: chosen("at") };
  const first = useMemo(() => endsOf(combsOf(here, wanted))[0], [here, wanted]);
  const look = useMemo(() => {
    const plain = lookOf(touched, asked);
    const index = asked.at === null ? indexOf(plain.axes, first) : null;
    return index && plain.fixed.length
      ? lookOf(touched, { ...asked, at: fixedAt(plain, index) })
      : plain;
  }, [touched, asked.shape, asked.axes, asked.at, first]);
  const { extent } = look;
  const all = useMemo(() => countsOf(touched, extent), [touched, extent]);
  const some = program !== null || iteration !== null || here !== touched;
  const counts = useMemo(() => (some ? countsOf(here, extent, wanted) : all), [here, all, wanted]);
  const masked = touched.accesses.some(({ layout }) => Boolean(layout?.box ?? layout?.active));
  const lanes = useMemo(
    () => (masked ? countsOf(here, extent, wanted, "all") : null),
    [here, extent, wanted],
  );
  const values = useValues(touched);
  const color = values || chosen("color") !== "value" ? coloring(chosen("color")) : "count";
  const subsets = useMemo(
    () => (color === "programs" ? subsetsOf(here, grid[0] * grid[1] * grid[2], iteration) : null),
    [here, color === "programs", iteration],
  );
  const marks = useMemo(() => marksOf(findings, touched), [findings, touched]);
  const slices = useMemo(() => shownSlices(look, all, marks), [look, all, marks]);
  const element = /^-?\d+$/.test(chosen("el") ?? "") ? Number(chosen("el")) : null;
  const shown = element ?? (Number.isFinite(first) ? first : 0);
  const slice = Math.min(
    Math.max(chosenNumber("slice") ?? placeOf(look, shown)?.[2] ?? 0, 0),
    slices - 1,
  );
  const tiles = useMemo(
    () =>
      program === null ? tilesOf(here, look, slice, grid[0] * grid[1] * grid[2], iteration) : null,
    [here, look, slice, program === null, iteration],
  );
  const context = some ? all : null;
  const parts = { touched: here, wanted, look, slice, counts, context, lanes };
  const scene: Scene = { ...parts, values, color, subsets, tiles, marks, element };
  return { scene: useMemo(() => scene, Object.values(scene)), last, slices };
}

/** The fixed indices of further axes, as the address has them. */
export function fixedAt({ fixed }: Look, index: readonly number[]): string {
  return fixed.map(({ axis }) => index[axis] ?? 0).join(",");
}

const MOST_SLICES_BESIDE = 4;

/** Slices of a tensor, and those past its end that accesses or marks go to. */
function shownSlices(look: Look, counts: Counts, marks: readonly Mark[]): number {
  const { axes, slices } = look;
  if (!slices) return 1;
  if (axes.some(({ stride }) => stride > slices.stride)) return slices.size;
  const last = Math.max(counts.last, ...marks.map(({ offset }) => offset));
  const end = Math.floor((last - look.start) / slices.stride) + 1;
  return Math.min(slices.size + MOST_SLICES_BESIDE, Math.max(slices.size, end));
}

/** The tensor's recorded elements; null where there are none on the page. */
function useValues({ recorded }: Touched): Values | null {
  const name = `tensor/${recorded?.artifact ?? ""}`;
  const block = recorded && page.has(name) ? name : null;
  const storage = useLoaded(block, block === null ? null : () => page.bytes(block));
  return useMemo(
    () => (recorded && storage.state === "ready" ? valuesOf(recorded, storage.value) : null),
    [storage.state, recorded],
  );
}

function coloring(asked: string | null): Coloring {
  return asked === "programs" || asked === "value" ? asked : "count";
}
