// What a map shows of one op: its tensor, how it is looked at, and its accesses counted.

import { itemBytes } from "../../data/format";
import type { Page } from "../../data/page";
import type { Argument, Call, Finding } from "../../data/types";
import type { Access, CallBlock, Op, RecordedTensor } from "./blocks";
import { combOf } from "./comb";
import type { HereFinding } from "./findings";
import { type Executions, formsOf, isKnown } from "./layout";
import { axesOf, indexOf, laneBytes, type Look, type LookAsked, lookAt, unitOf } from "./tensor";

/** A place that something is said of, as a finding's witness. */
export interface Mark {
  readonly offset: number;
  readonly text: string;
}

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
  readonly recorded: RecordedTensor | null;
}

function argumentNamed(page: Page, call: Call, name: string | null): Argument | undefined {
  return call.args
    .map((index) => page.report.arguments[index])
    .find((each) => each?.name === name && each?.shape);
}

/** The arguments that an op accesses; more than one where a pointer is chosen by data. */
export function tensorsOf(block: CallBlock, op: number | null): string[] {
  const names = block.accesses.flatMap((access) =>
    access.op === op && access.arg !== null ? [access.arg] : [],
  );
  return [...new Set(names)];
}

/**
 * What an op accesses of one argument, the one asked for or its first; null for an op that accesses
 * nothing, or nothing that was recorded.
 */
export function touchedBy(
  page: Page,
  call: Call,
  block: CallBlock,
  index: number | null,
  asked: string | null = null,
): Touched | null {
  const op = block.ops.find((each) => each.index === index);
  const names = tensorsOf(block, index);
  const name = asked !== null && names.includes(asked) ? asked : (names[0] ?? op?.buffer ?? null);
  if (!op || name === null) return null;
  const accesses = block.accesses.filter((access) => access.op === index && access.arg === name);
  const argument = argumentNamed(page, call, name);
  const lane = laneBytes(op) ?? itemBytes(op.dtype ?? argument?.dtype);
  const item = argument ? itemBytes(argument.dtype) : lane;
  const unit = unitOf(accesses.filter(isKnown), item, lane);
  const last = accesses.reduce((most, access) => Math.max(most, access.last ?? 0), 0);
  return {
    op,
    name,
    argument,
    accesses,
    unit,
    width: Math.max(1, lane / unit),
    reach: Math.floor(last / unit) + Math.max(1, lane / unit),
    recorded: block.values.find((value) => value.name === name) ?? null,
  };
}

/** Unless asked otherwise, rows and columns are the axes that one execution's lanes go along. */
export function lookOf(touched: Touched, asked: LookAsked): Look {
  const { argument, unit, reach } = touched;
  const look = lookAt(argument, unit, reach, asked);
  if (asked.axes !== null || asked.shape !== null || look.axes.length < 3) return look;
  const axes = laneAxes(touched, look);
  return axes ? lookAt(argument, unit, reach, { ...asked, axes: axes.join(",") }) : look;
}

/** All axes, those of the lanes last; null where there are not two of them that are told by stride. */
function laneAxes({ accesses, unit }: Touched, look: Look): number[] | null {
  const lanes = accesses.find(isKnown)?.layout?.lanes?.filter(([extent]) => extent > 1) ?? [];
  const found = lanes.map(([, stride]) =>
    look.axes.findIndex((axis) => axis.size > 1 && axis.stride * unit === Math.abs(stride)),
  );
  if (found.length < 2 || found.includes(-1) || new Set(found).size < found.length) return null;
  return [...[...look.axes.keys()].filter((axis) => !found.includes(axis)), ...found];
}

function witnessText({ rule, lane, program, message }: Finding): string {
  const where = [
    lane?.length ? `lane (${lane.join(", ")})` : "",
    program ? `program (${program.join(", ")})` : "",
  ].filter(Boolean);
  return `${rule}${where.length ? `, ${where.join(" of ")}` : ""}: ${message ?? ""}`;
}

/** The first unit that is touched; infinite where none is. */
export function firstTouched({ accesses, unit }: Touched, wanted: Executions): number {
  const forms = accesses.flatMap((access) => formsOf(access, wanted));
  return forms.reduce((least, form) => Math.min(least, combOf(form, unit).start), Infinity);
}

/** Whether a mask turns lanes off in any record, so that there is something to show of it. */
export function hasMask(touched: Touched): boolean {
  return touched.accesses.some(({ layout }) => Boolean(layout?.box ?? layout?.active));
}

/** Witnesses of findings about the op, on either side of a race. */
export function marksOf(findings: readonly HereFinding[], touched: Touched): Mark[] {
  return findings.flatMap(({ placed: { found, other_op }, op, own }) => {
    const here = own && (op === touched.op.index || other_op === touched.op.index);
    if (!here || found.arg !== touched.name || found.address_offset === null) return [];
    return [{ offset: Math.floor(found.address_offset / touched.unit), text: witnessText(found) }];
  });
}

/** The tensor's own index of an offset. */
export function ownIndex(touched: Touched, offset: number): number[] {
  return indexOf(axesOf(touched.argument, touched.unit, touched.reach), offset);
}
