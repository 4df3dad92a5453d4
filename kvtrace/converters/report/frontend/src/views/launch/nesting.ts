// The ops of a call with its loops, as they nest.
//
// Each op names the loop around it; which loop a loop is in follows from the generic TTIR's
// indentation where the page has it, else from the order of the ops as far as that tells.

import type { Page } from "../../data/page";
import type { Variant } from "../../data/types";
import type { CallBlock, Loop, Op } from "./blocks";

export interface Line {
  readonly index: number;
  readonly depth: number;
  readonly op: Op | null;
  readonly loop: Loop | null;
}

export type Parents = ReadonlyMap<number, number | null>;

/** Ops and loops in the order of the program. */
export function linesOf(block: CallBlock, parents: Parents | null): Line[] {
  const around = parents ?? guessedParents(block);
  const depthOf = (loop: number | null): number => {
    let depth = 0;
    for (let at = loop; at !== null && depth < 32; at = around.get(at) ?? null) depth += 1;
    return depth;
  };
  const lines: Line[] = [
    ...block.ops.map((op) => ({ index: op.index, depth: depthOf(op.loop), op, loop: null })),
    ...block.loops.map((loop) => ({
      index: loop.index,
      depth: depthOf(around.get(loop.index) ?? null),
      op: null,
      loop,
    })),
  ];
  return lines.sort((a, b) => a.index - b.index);
}

/** A loop that begins before another one, and has ops after that one began, is around it. */
function guessedParents({ ops, loops }: CallBlock): Parents {
  const last = new Map<number, number>();
  for (const { index, loop } of ops) if (loop !== null) last.set(loop, index);
  const parents = new Map<number, number | null>();
  for (const { index } of loops) {
    const around = loops.filter(
      (other) => other.index < index && (last.get(other.index) ?? -1) > index,
    );
    parents.set(index, around.at(-1)?.index ?? null);
  }
  return parents;
}

/** From the text; null where the page has not got it, or it has other loops than were counted. */
export async function textParents(
  page: Page,
  variant: number,
  block: CallBlock,
): Promise<Parents | null> {
  const number = stageText(page.report.variants[variant]);
  if (block.loops.length < 2 || number === null) return null;
  const { text } = await page.text(number);
  const lines = text.split("\n");
  const heads = [...lines.keys()].filter((line) => HEAD.test(lines[line] ?? ""));
  const loops = block.loops.map(({ index }) => index).sort((a, b) => a - b);
  if (heads.length !== loops.length) return null;
  return new Map(
    heads.map((line, place) => {
      const around = heads.indexOf(loopAround(lines, line));
      return [loops[place] ?? -1, loops[around] ?? null];
    }),
  );
}

const HEAD = /"scf\.(for|while)"/;

function stageText(variant: Variant | undefined): number | null {
  return variant?.stages.find((stage) => stage.stage === "ttir_generic")?.text ?? null;
}

/** The line where the innermost loop around a line begins; -1 where there is none. */
function loopAround(text: readonly string[], line: number): number {
  let room = indentation(text[line] ?? "");
  for (let at = line - 1; at >= 0 && room > 0; at -= 1) {
    const each = text[at] ?? "";
    // the ops around it are those that open a region, less and less indented
    if (!each.trimEnd().endsWith("({") || indentation(each) >= room) continue;
    if (HEAD.test(each)) return at;
    room = indentation(each);
  }
  return -1;
}

function indentation(line: string): number {
  return line.length - line.trimStart().length;
}
