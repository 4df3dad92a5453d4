// Which ops fit a search, and which come from a line of the source.

import type { Page } from "../../data/page";
import { type GraphColumns, framesOf, opcodeOf, typeText } from "./blocks";

export interface Wanted {
  readonly words: string;
  readonly file: string | null;
  readonly line: number | null;
}

/** null: nothing is asked for, so that all fit. */
export function foundOps(page: Page, graph: GraphColumns, wanted: Wanted): ReadonlySet<number> | null {
  const words = wanted.words.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length && wanted.line === null) return null;
  const places = new Map<number, string>();
  const onLine = new Map<number, boolean>();
  const found = new Set<number>();
  graph.opcode.forEach((_, op) => {
    const stack = graph.stack[op] ?? -1;
    if (wanted.line !== null) {
      if (!onLine.has(stack)) onLine.set(stack, isOnLine(page, graph, op, wanted));
      if (!onLine.get(stack)) return;
    }
    if (!places.has(stack)) places.set(stack, placesText(page, graph, op));
    const { input, output, aliases } = graph.names[op] ?? { input: "", output: "", aliases: "" };
    const text = `%${op} ${opcodeOf(graph, op)} ${typeText(graph, op)} ${input ?? ""} ${output ?? ""} ${aliases ?? ""}`;
    const all = `${text.toLowerCase()} ${places.get(stack)}`;
    if (words.every((word) => all.includes(word))) found.add(op);
  });
  return found;
}

function isOnLine(page: Page, graph: GraphColumns, op: number, { file, line }: Wanted): boolean {
  return framesOf(page, graph, op).some((frame) => frame[1] === line && (file === null || frame[0] === file));
}

function placesText(page: Page, graph: GraphColumns, op: number): string {
  const frames = framesOf(page, graph, op);
  return frames.map(([file, line, name]) => `${file ?? ""}:${line ?? ""} ${name ?? ""}`).join(" ").toLowerCase();
}
