// What a warp's lanes ask for in one execution: which words of which 128-byte lines, and so which
// 32-byte sectors are moved and how much of them nobody asked for.

import type { Access } from "../data/types";
import { type Executions, executionsOf, isKnown, type Places, type Point, within } from "./records";

export const WARP = 32;
export const SECTOR = 32;
export const LINE = 128;
/** As wide as a bank of shared memory. */
export const WORD = 4;

/** As many warps say how well an order of lanes does. */
const MOST_SAMPLED = 8;

/** 128 bytes of which some are asked for. */
export interface Line {
  /** Its first byte, counted from the argument's data pointer. */
  readonly start: number;
  /** For each word how many bytes of it are asked for, and by how many lanes. */
  readonly bytes: Uint8Array;
  readonly lanes: Uint8Array;
  /** Whether some byte of a word is asked for more than once. */
  readonly again: Uint8Array;
}

export interface Warp {
  readonly lines: readonly Line[];
  /** Lanes that the mask leaves on, of those that there are. */
  readonly active: number;
  readonly lanes: number;
  /** Distinct bytes asked for, and sectors moved for them. */
  readonly asked: number;
  readonly sectors: number;
}

/** A record with the order of its lanes, and one of the executions that are asked for. */
export interface WarpAccess {
  readonly access: Access;
  readonly base: number;
  readonly program: number;
  readonly iteration: number;
}

/** The first of the executions that are asked for; null where no record has its lanes' order. */
export function warpAccess(accesses: readonly Access[], wanted: Executions): WarpAccess | null {
  const found = accesses.flatMap((access): WarpAccess[] => {
    if (!isKnown(access) || !access.layout?.lanes) return [];
    const [base, program, iteration] = firstOf(executionsOf(access), wanted) ?? [];
    return base === undefined || program === undefined || iteration === undefined
      ? []
      : [{ access, base, program, iteration }];
  });
  found.sort((a, b) => a.program - b.program || a.iteration - b.iteration);
  return found[0] ?? null;
}

/** How many warps' worth of lanes follow each other in the block. */
export function warpsOf({ access: { layout } }: WarpAccess): number {
  const lanes = (layout?.lanes ?? []).reduce((product, [extent]) => product * extent, 1);
  return Math.max(1, Math.ceil(lanes / WARP));
}

/** Axes of the block that lanes can follow each other along, the last one first. */
export function lanesAlong({ access: { layout } }: WarpAccess): number[] {
  const axes = [...(layout?.lanes ?? []).entries()].filter(([, [extent]]) => extent > 1);
  return axes.map(([axis]) => axis).reverse();
}

/** Share of the moved bytes that are asked for, over the first warps. */
export function warpEfficiency(from: WarpAccess, along: number, laneBytes: number, at: number) {
  const warps = Array.from({ length: Math.min(warpsOf(from), MOST_SAMPLED) }, (_, warp) =>
    warpOf(from, warp, along, laneBytes, at),
  );
  const sum = (of: (warp: Warp) => number): number =>
    warps.reduce((all, each) => all + of(each), 0);
  return sum(({ asked }) => asked) / (SECTOR * sum(({ sectors }) => sectors) || 1);
}

/** Lanes `warp * 32` and those that follow, in the order of the block with one axis the fastest. */
export function warpOf(
  { access, base }: WarpAccess,
  warp: number,
  along: number,
  laneBytes: number,
  dataOffset: number,
): Warp {
  const axes = access.layout?.lanes ?? [];
  const all = axes.reduce((product, [extent]) => product * extent, 1);
  const lines = new Map<number, Line>();
  const seen = new Set<number>();
  let [active, lanes] = [0, 0];
  for (let lane = warp * WARP; lane < Math.min((warp + 1) * WARP, all); lane += 1) {
    lanes += 1;
    const index = indexIn(axes, lane, along);
    const plain = axes.reduce((place, [extent], axis) => place * extent + (index[axis] ?? 0), 0);
    if (!isActive(access, index, plain)) continue;
    active += 1;
    const from = axes.reduce((sum, [, stride], axis) => sum + (index[axis] ?? 0) * stride, base);
    for (let byte = from; byte < from + laneBytes; byte += 1) {
      // lines begin where the storage does, not where this tensor begins in it
      const start = Math.floor((byte + dataOffset) / LINE) * LINE - dataOffset;
      const line = lines.get(start) ?? emptyLine(start);
      lines.set(start, line);
      const word = Math.floor((byte - start) / WORD);
      if (byte === from || word !== Math.floor((byte - 1 - start) / WORD))
        line.lanes[word] = (line.lanes[word] ?? 0) + 1;
      if (seen.has(byte)) line.again[word] = 1;
      else line.bytes[word] = (line.bytes[word] ?? 0) + 1;
      seen.add(byte);
    }
  }
  const sorted = [...lines.values()].sort((a, b) => a.start - b.start);
  const sectors = sorted.reduce((sum, line) => sum + sectorsOf(line).filter(Boolean).length, 0);
  return { lines: sorted, active, lanes, asked: seen.size, sectors };
}

function emptyLine(start: number): Line {
  const words = (): Uint8Array => new Uint8Array(LINE / WORD);
  return { start, bytes: words(), lanes: words(), again: words() };
}

/** For each sector of a line how many of its bytes are asked for. */
export function sectorsOf({ bytes }: Line): number[] {
  const words = SECTOR / WORD;
  return Array.from({ length: LINE / SECTOR }, (_, sector) =>
    bytes.subarray(sector * words, (sector + 1) * words).reduce((sum, each) => sum + each, 0),
  );
}

function firstOf(whole: Places, { program, iteration }: Executions): Point | null {
  const some = program === null ? [whole] : [...within(whole, "program", program)];
  const one = some.flatMap((each) =>
    iteration === null || each.at[2] < 0 ? [each] : [...within(each, "iteration", iteration)],
  );
  return one[0]?.at ?? null;
}

function indexIn(
  axes: readonly (readonly [number, number])[],
  lane: number,
  along: number,
): number[] {
  const index = axes.map(() => 0);
  let left = lane;
  const order = [...axes.keys()].reverse();
  for (const axis of [along, ...order.filter((each) => each !== along)]) {
    const extent = axes[axis]?.[0] ?? 1;
    index[axis] = left % extent;
    left = Math.floor(left / extent);
  }
  return index;
}

function isActive({ layout }: Access, index: readonly number[], lane: number): boolean {
  const inBox = layout?.box?.every(([low, end], axis) => {
    const place = index[axis] ?? 0;
    return place >= low && place < end;
  });
  if (inBox === false) return false;
  const runs = layout?.active;
  return !runs || runs.some(([first, count]) => lane >= first && lane < first + count);
}
