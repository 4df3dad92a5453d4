// What each program of a grid does, from the accesses: bytes, and lanes that masks turn off.

import { itemBytes } from "../data/tensors";
import type { CallOps, Op } from "../data/types";
import { eachExecution, executionsOf, lanesOf } from "./records";
import { laneBytes } from "./look";

interface GridWork {
  /** For each program, by its number; null where nothing is known, or there are too many. */
  readonly bytes: Float64Array | null;
  /** Share of the lanes that are off. */
  readonly masked: Float64Array | null;
  /** What the figures leave out, in a sentence. */
  readonly partial: string | null;
}

/** Beyond it no program is shown by itself. */
export const MOST_PROGRAMS = 2 ** 22;
const MOST_STEPS = 1e7;

/** `op`: only that op's accesses; null for all of them. */
export function gridWork(block: CallOps, programs: number, op: number | null): GridWork {
  const ops = new Map(block.ops.map((each) => [each.index, each]));
  const accesses = block.accesses.filter((access) => op === null || access.op === op);
  const found = accesses.map((access) => {
    const { at, levels } = executionsOf(access);
    const size = (all: typeof levels): number =>
      all.reduce((product, [count]) => product * count, 1);
    const byProgram = levels.filter(([, [, program]]) => program);
    const times = size(levels) / size(byProgram);
    return { access, times, each: size(levels), places: { at, levels: byProgram } };
  });
  const steps = found.reduce((sum, { each, times }) => sum + each / times, 0);
  const large = programs > MOST_PROGRAMS || steps > MOST_STEPS;
  const partial = large ? "The grid is too large to show each program." : leftOut(block, op);
  if (large || (!accesses.length && partial)) return { bytes: null, masked: null, partial };
  const [bytes, all, off] = [0, 1, 2].map(() => new Float64Array(programs)) as [
    Float64Array,
    Float64Array,
    Float64Array,
  ];
  for (const { access, times, each, places } of found) {
    const own = ops.get(access.op);
    const active = (access.active ?? 0) / each;
    // where the lanes are listed as runs, those that are off are not known
    const lanes = lanesOf(access);
    const width = (own && laneBytes(own)) ?? itemBytes(own?.dtype);
    eachExecution(places, ([, program]) => {
      const at = Math.max(program, 0);
      bytes[at] = (bytes[at] as number) + active * times * width;
      if (lanes === null) return;
      all[at] = (all[at] as number) + lanes * times;
      off[at] = (off[at] as number) + (lanes - active) * times;
    });
  }
  return { bytes, masked: off.map((lanes, program) => lanes / (all[program] || 1)), partial };
}

/** Active lanes that the records of an op describe. */
export function describedLanes(block: CallOps, op: number): number {
  return block.accesses.reduce((sum, each) => sum + (each.op === op ? (each.active ?? 0) : 0), 0);
}

/** Which accesses have no record: their addresses depend on data, or they are too many. */
function leftOut(block: CallOps, only: number | null): string | null {
  const missing = block.ops.filter((op) => {
    if (!isMemory(op) || (only !== null && op.index !== only)) return false;
    const known = op.elements !== null && op.masked_off !== null;
    return !known || describedLanes(block, op.index) < (op.elements ?? 0) - (op.masked_off ?? 0);
  });
  if (!missing.length) return null;
  const names = missing.slice(0, 4).map((op) => `${op.op} at ${op.index}`);
  const more = missing.length > 4 ? ` and ${missing.length - 4} more` : "";
  return `Missing, wholly or in part: ${names.join(", ")}${more}, whose addresses depend on data that was not recorded, or are too irregular to be recorded.`;
}

export function isMemory(op: Op): boolean {
  return op.buffer !== null || op.kind === "load" || op.kind === "store" || op.kind === "atomic";
}
