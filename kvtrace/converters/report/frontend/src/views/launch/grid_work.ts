// What each program of a grid does, from the accesses: bytes, and lanes that masks turn off.

import { itemBytes } from "../../data/format";
import type { Access, CallBlock, Op } from "./blocks";
import { executionsOf, type Form, lanesOf, programsOf } from "./layout";
import { laneBytes } from "./tensor";

interface GridWork {
  /** For each program, by its number; null where nothing is known, or there are too many. */
  readonly bytes: Float64Array | null;
  readonly lanes: Float64Array | null;
  readonly masked: Float64Array | null;
  /** What the figures leave out, in a sentence. */
  readonly partial: string | null;
}

/** Beyond it no program is shown by itself. */
export const MOST_PROGRAMS = 2 ** 22;
const MOST_STEPS = 2e7;

/** `op`: only that op's accesses; null for all of them. */
export function gridWork(block: CallBlock, programs: number, op: number | null): GridWork {
  const ops = new Map(block.ops.map((each) => [each.index, each]));
  const accesses = block.accesses.filter((access) => op === null || access.op === op);
  const steps = accesses.reduce((sum, access) => sum + placesOf(programsOf(access)), 0);
  const partial =
    programs > MOST_PROGRAMS || steps > MOST_STEPS
      ? "The grid is too large to show each program."
      : leftOut(block, op);
  if (programs > MOST_PROGRAMS || steps > MOST_STEPS || (!accesses.length && partial))
    return { bytes: null, lanes: null, masked: null, partial };
  const work = {
    bytes: new Float64Array(programs),
    lanes: new Float64Array(programs),
    masked: new Float64Array(programs),
  };
  for (const access of accesses) addAccess(work, access, ops.get(access.op));
  return { ...work, partial };
}

function placesOf({ levels }: Form): number {
  return levels.reduce((product, [count]) => product * count, 1);
}

function addAccess(
  work: { bytes: Float64Array; lanes: Float64Array; masked: Float64Array },
  access: Access,
  op: Op | undefined,
): void {
  const form = programsOf(access);
  const each = executionsOf(access);
  const active = (access.active ?? 0) / each;
  const times = each / placesOf(form);
  // where the lanes are listed as runs, those that are off are not known
  const lanes = lanesOf(access);
  const width = (op && laneBytes(op)) ?? itemBytes(op?.dtype);
  eachPlace(form.levels, form.levels.length, form.start, (program) => {
    if (program < 0 || program >= work.bytes.length) return;
    work.bytes[program] = (work.bytes[program] as number) + active * times * width;
    if (lanes === null) return;
    work.lanes[program] = (work.lanes[program] as number) + lanes * times;
    work.masked[program] = (work.masked[program] as number) + (lanes - active) * times;
  });
}

function eachPlace(
  levels: Form["levels"],
  depth: number,
  at: number,
  visit: (place: number) => void,
): void {
  const level = levels[depth - 1];
  if (!level) return visit(at);
  for (let place = 0; place < level[0]; place += 1)
    eachPlace(levels, depth - 1, at + place * level[1], visit);
}

/** Active lanes that the records of an op describe. */
export function describedLanes(block: CallBlock, op: number): number {
  return block.accesses.reduce((sum, each) => sum + (each.op === op ? (each.active ?? 0) : 0), 0);
}

/** Which accesses have no record: their addresses depend on data, or they are too many. */
function leftOut(block: CallBlock, only: number | null): string | null {
  const missing = block.ops.filter((op) => {
    if (!isMemory(op) || (only !== null && op.index !== only)) return false;
    const known = op.elements !== null && op.masked_off !== null;
    return !known || describedLanes(block, op.index) < (op.elements ?? 0) - (op.masked_off ?? 0);
  });
  if (!missing.length) return null;
  const names = missing
    .slice(0, 4)
    .map((op) => `${op.op} at ${op.index}`)
    .join(", ");
  const more = missing.length > 4 ? ` and ${missing.length - 4} more` : "";
  return `Not in it, wholly or in part: ${names}${more}, whose addresses depend on data that was not recorded, or are too irregular to be kept.`;
}

export function isMemory(op: Op): boolean {
  return op.buffer !== null || op.kind === "load" || op.kind === "store" || op.kind === "atomic";
}
