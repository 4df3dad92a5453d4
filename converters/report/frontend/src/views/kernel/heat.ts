// Heat: one figure for each line of the source, and of the TTIR, that has an op.

import { formatBytes, formatFlops, formatPlace, formatShare, plural } from "../../data/format";
import type { LineFigures, SourceFile } from "../../data/types";
import type { Heat } from "../../parts/code";
import { sourceText } from "../../parts/text";
import type { LinesBlock, SourceLineFigures } from "./blocks";
import { shownPath } from "../../parts/finding_marks";
import type { Links } from "./links";

export interface Measure {
  readonly name: string;
  readonly title: string;
  /** How it was worked out. */
  readonly how: string;
  /** Whether the value is a share itself; else a bar is relative to the hottest line. */
  readonly share: boolean;
  /** Whether a line with nothing of it is worth showing. */
  readonly zero: boolean;
  value(figures: LineFigures): number | null;
  shown(value: number): string;
}

const percent = (value: number): string => formatShare(value, 1);

const TIME =
  "the line's roofline time (the least time that the device's limits allow) as a share of that of all ops; not measured per line";
const SECTORS = "the share of the bytes of touched 32-byte sectors that no lane requested";
const waste = { share: true, zero: true, shown: percent };
const amount = { share: false, zero: false };

const MEASURES: readonly Measure[] = [
  {
    ...waste,
    zero: false,
    name: "time",
    title: "time share",
    how: TIME,
    value: (of) => of.time_share,
  },
  {
    ...amount,
    name: "bytes",
    title: "bytes",
    how: "bytes of active lanes over all runs",
    value: (of) => of.bytes,
    shown: formatBytes,
  },
  {
    ...amount,
    name: "flops",
    title: "FLOPs",
    how: "floating-point operations over all runs",
    value: (of) => of.flops,
    shown: formatFlops,
  },
  {
    ...waste,
    name: "masked",
    title: "mask waste",
    how: "the share of lanes that a mask switched off",
    value: (of) => of.masked_share,
  },
  {
    ...waste,
    name: "coalescing",
    title: "coalescing waste",
    how: SECTORS,
    value: ({ sector_efficiency: used }) => (used === null ? null : Math.max(1 - used, 0)),
  },
];

/** Those that some line of a block has a figure for. */
export function knownMeasures(block: LinesBlock): readonly Measure[] {
  const all = Object.values(block.ops);
  return MEASURES.filter((measure) => all.some((figures) => measure.value(figures) !== null));
}

/** Everything that is known of a line in one sentence; the tooltip of its heat. */
function figuresText(figures: LineFigures, block: LinesBlock): string {
  const parts = [
    figures.time_share === null ? "" : `${percent(figures.time_share)} of the time at best`,
    figures.bytes === null ? "" : bytesText(figures),
    figures.flops ? formatFlops(figures.flops) : "",
    figures.masked_share === null ? "" : `${percent(figures.masked_share)} of lanes masked off`,
    figures.sector_efficiency === null
      ? ""
      : `${percent(figures.sector_efficiency)} of touched sectors' bytes used`,
  ];
  const source = block.measured ? "measured" : "derived";
  const over = `${plural(figures.ops.length, "op")}, over ${plural(block.runs, "run")}`;
  return `${parts.filter(Boolean).join("; ") || "no figures"} (${over}). ${sourceText(source)}`;
}

function bytesText({ bytes, unique_bytes: distinct }: LineFigures): string {
  return distinct === null
    ? formatBytes(bytes)
    : `${formatBytes(bytes)}, ${formatBytes(distinct)} of them distinct`;
}

/** Figures of one file's lines, by line. */
export function linesOfFile(
  block: LinesBlock,
  path: string,
  files: readonly SourceFile[],
): ReadonlyMap<number, SourceLineFigures> {
  const found = block.files.find((file) => shownPath(file.path, files) === path);
  return new Map(
    Object.entries(found?.lines ?? {}).map(([line, figures]) => [Number(line), figures]),
  );
}

export function sourceHeat(
  block: LinesBlock,
  lines: ReadonlyMap<number, SourceLineFigures>,
  measure: Measure,
): ReadonlyMap<number, Heat> {
  return heatOf(block, measure, [...lines], (figures) =>
    "own" in figures && !figures.own ? "Ops inlined into this line: " : "",
  );
}

/** Heat of a stage's lines; null where it is not known which op is on which line. */
export function stageHeat(
  block: LinesBlock,
  stage: string,
  measure: Measure,
): ReadonlyMap<number, Heat> | null {
  const places = block.stages[stage];
  if (!places || !Object.keys(places).length) return null;
  const lines = Object.entries(block.ops).flatMap(([op, figures]) => {
    const line = places[op];
    return line === undefined ? [] : [[line, figures] as const];
  });
  return heatOf(block, measure, lines, (figures) =>
    "op" in figures ? `${String(figures.op)}: ` : "",
  );
}

/** A space that keeps a bar its height. */
const NO_FIGURE = "\u00a0";

/**
 * Heat of a stage whose lines are not single ops: each has that of its source
 * line, as a bar without a figure, since the figure is of all that the source line became.
 */
export function inheritedHeat(
  block: LinesBlock,
  links: Links,
  files: readonly SourceFile[],
  measure: Measure,
): ReadonlyMap<number, Heat> {
  const byPath = new Map<string, ReadonlyMap<number, Heat>>();
  for (const { path } of block.files) {
    const shown = shownPath(path, files);
    byPath.set(shown, sourceHeat(block, linesOfFile(block, shown, files), measure));
  }
  const heat = new Map<number, Heat>();
  for (const [line, [place]] of links.toSource) {
    const whole = place && byPath.get(place.path)?.get(place.line);
    if (!whole) continue;
    const title = `All of ${formatPlace(place.path, place.line)}: ${whole.text}. ${whole.title}`;
    heat.set(line, { share: whole.share, text: NO_FIGURE, title });
  }
  return heat;
}

function heatOf(
  block: LinesBlock,
  measure: Measure,
  lines: readonly (readonly [line: number, figures: LineFigures])[],
  before: (figures: LineFigures) => string,
): ReadonlyMap<number, Heat> {
  const most = lines.reduce((most, [, figures]) => Math.max(most, measure.value(figures) ?? 0), 0);
  const hottest = lines.find(([, figures]) => most && measure.value(figures) === most)?.[0];
  const heat = new Map<number, Heat>();
  for (const [line, figures] of lines) {
    const value = measure.value(figures);
    if (value === null || (value === 0 && !measure.zero)) continue;
    const share = measure.share ? value : most ? value / most : 0;
    heat.set(line, {
      share,
      text: measure.shown(value),
      title: before(figures) + figuresText(figures, block),
      hottest: line === hottest,
    });
  }
  return heat;
}
