// What views.py writes, and one graph of it made ready.

import { shortText } from "@report/data/format";
import { page } from "@report/data/page";
import type { Frame } from "@report/data/types";
import type { GraphColumns } from "../model";
import { stackPlace } from "@report/parts/text";

const SHORT: Readonly<Record<string, string>> = { float: "f", bfloat: "bf", uint: "u", int: "i" };

/** "f32[4, 32]". */
export function typeText(graph: GraphColumns, op: number): string {
  const dtype = dtypeOf(graph, op);
  if (dtype === "tuple") return "several results";
  const short = dtype.replace(/^(bfloat|float|uint|int)(?=\d)/, (word) => SHORT[word] ?? word);
  return `${short}[${(graph.shape[op] ?? []).join(", ")}]`;
}

export function opcodeOf(graph: GraphColumns, op: number): string {
  return graph.opcodes[graph.opcode[op] ?? -1] ?? "?";
}

function dtypeOf(graph: GraphColumns, op: number): string {
  return graph.dtypes[graph.dtype[op] ?? -1] ?? "?";
}

export function nameOf(graph: GraphColumns, op: number): string | null {
  const names = graph.names[op];
  return names ? (names.input ?? names.output) : null;
}

/** Innermost first. */
export function framesOf(graph: GraphColumns, op: number): readonly Frame[] {
  return page.report.stacks[graph.stack[op] ?? -1] ?? [];
}

/** "%5 add", or a parameter's name. */
export function opTitle(graph: GraphColumns, op: number): string {
  const name = nameOf(graph, op);
  const suffix = name === null ? "" : ` ${shortText(name, 60)}`;
  return `%${op} ${opcodeOf(graph, op)}${suffix}`;
}

export function placeText(graph: GraphColumns, op: number): string {
  return stackPlace(graph.stack[op] ?? null);
}

/** For each op those that read it. */
export function usersOf(graph: GraphColumns): readonly (readonly number[])[] {
  const users: number[][] = graph.opcode.map(() => []);
  graph.operands.forEach((operands, op) => {
    for (const operand of new Set(operands)) users[operand]?.push(op);
  });
  return users;
}

/** Variants of the report that are graphs of this page. */
export function graphVariants(): number[] {
  return page.names("graph/").map((name) => Number(name.slice("graph/".length)));
}
