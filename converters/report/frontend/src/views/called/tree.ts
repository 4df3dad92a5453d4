// The steps of a tree of calls: who is above and below whom, and what a measure says of each.

import type { Format } from "../../data/format";
import type { CalledBlock } from "../../data/types";

export interface Measure {
  readonly name: keyof CalledBlock["figures"];
  readonly title: string;
  readonly source: "measured" | "derived";
  readonly as: Format;
  readonly how: string;
}

/** In the order in which one is taken where the address names none. */
export const MEASURES: readonly Measure[] = [
  {
    name: "device_ns",
    title: "GPU time",
    source: "measured",
    as: "ns",
    how: "Sum over executions of both passes, of optimizers, and where the pass is not known; without autotuners and warm-ups",
  },
  {
    name: "forward_ns",
    title: "forward",
    source: "measured",
    as: "ns",
    how: "Device time that the program asked for outside of backwards and optimizers",
  },
  {
    name: "backward_ns",
    title: "backward",
    source: "measured",
    as: "ns",
    how: "Device time that autograd asked for, at the module of the forward; what a checkpoint computes again is backward",
  },
  {
    name: "host_ns",
    title: "host time",
    source: "measured",
    as: "ns",
    how: "Time inside launches, without those that compiled or loaded their kernel",
  },
  {
    name: "runs",
    title: "executions",
    source: "measured",
    as: "count",
    how: "Launches; one captured into a graph counts once per replay of the graph",
  },
  {
    name: "bytes",
    title: "bytes",
    source: "derived",
    as: "bytes",
    how: "Bytes requested by active lanes, of calls that were replayed",
  },
  {
    name: "compile_ns",
    title: "compile time",
    source: "measured",
    as: "ns",
    how: "Compile time of all variants, at the first call of each",
  },
];

/** The measures that a tree has, and the one that the address names, or else the first. */
export function measuresOf(block: CalledBlock, name: string | null): [Measure[], Measure] {
  const known = MEASURES.filter((each) => block.figures[each.name] !== null);
  return [known, known.find((each) => each.name === name) ?? (known[0] as Measure)];
}

/** For each step the place after its last descendant: descendants follow their step. */
export function endsOf({ parent }: CalledBlock): readonly number[] {
  const ends = parent.map((_, place) => place + 1);
  for (let place = parent.length - 1; place > 0; place -= 1) {
    const above = parent[place] ?? 0;
    ends[above] = Math.max(ends[above] ?? 0, ends[place] ?? 0);
  }
  return ends;
}

export function depthsOf({ parent }: CalledBlock): readonly number[] {
  const depths: number[] = [];
  for (const above of parent) depths.push(above < 0 ? 0 : (depths[above] ?? 0) + 1);
  return depths;
}

export interface Box {
  readonly step: number;
  readonly depth: number;
  readonly left: number;
  readonly width: number;
}

/** Boxes of a step and all below it, each as wide as its share; too narrow ones are left out. */
export function boxesOf(
  block: CalledBlock,
  values: readonly number[],
  top: number,
  narrowest: number,
): Box[] {
  const [ends, whole] = [endsOf(block), values[top] ?? 0];
  const boxes = new Map<number, Box>();
  /** Where the next box below a step begins. */
  const next = new Map<number, number>();
  for (let step = top; step < (ends[top] ?? 0); step += 1) {
    const above = step === top ? null : boxes.get(block.parent[step] ?? -1);
    const width = whole ? (values[step] ?? 0) / whole : 0;
    if (above === undefined || (above && width < narrowest)) continue;
    const left = above ? (next.get(above.step) ?? above.left) : 0;
    boxes.set(step, { step, depth: above ? above.depth + 1 : 0, left, width: above ? width : 1 });
    if (above) next.set(above.step, left + width);
  }
  return [...boxes.values()];
}

/** Names beside one name, whatever the way to it: `steps` add up to what they share. */
export interface Around {
  readonly label: string;
  /** A step of this name, to go to. */
  readonly first: number;
  readonly steps: readonly number[];
}

/** All steps of the name of one of them that are below no other of that name. */
export function namesakes(block: CalledBlock, at: number): readonly number[] {
  const same = (step: number): boolean =>
    block.label[step] === block.label[at] && block.file[step] === block.file[at];
  return within(block, same).outermost;
}

/** Who calls a name, over all places where it is called. */
export function callersOf(block: CalledBlock, at: number): Around[] {
  const steps = namesakes(block, at).filter((step) => step > 0);
  return grouped(block, steps, (step) => block.parent[step] ?? 0);
}

/** What a name calls, over all places where it is called. */
export function calleesOf(block: CalledBlock, at: number): Around[] {
  const callers = new Set(namesakes(block, at));
  const steps = block.parent.flatMap((above, step) => (callers.has(above) ? [step] : []));
  return grouped(block, steps, (step) => step);
}

function grouped(
  block: CalledBlock,
  steps: readonly number[],
  named: (step: number) => number,
): Around[] {
  const groups = new Map<string, { label: string; first: number; steps: number[] }>();
  for (const step of steps) {
    const first = named(step);
    const label = block.label[first] ?? "";
    const key = `${label}\n${block.file[first]}`;
    const group = groups.get(key);
    if (group) group.steps.push(step);
    else groups.set(key, { label, first, steps: [step] });
  }
  return [...groups.values()];
}

/** Steps that are chosen, and of these those that are below no other of them. */
export function within(
  block: CalledBlock,
  isChosen: (step: number) => boolean,
): { readonly steps: ReadonlySet<number>; readonly outermost: readonly number[] } {
  const steps = new Set<number>();
  const inside = new Set<number>();
  const outermost: number[] = [];
  block.parent.forEach((above, step) => {
    const below = inside.has(above);
    if (isChosen(step)) {
      steps.add(step);
      if (!below) outermost.push(step);
    }
    if (below || steps.has(step)) inside.add(step);
  });
  return { steps, outermost };
}
