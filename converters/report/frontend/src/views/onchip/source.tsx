// The kernel's source with the work of each line, and the lines that break a rule.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";

import { setQuery } from "../../app/router";
import { formatBytes, formatFlops, formatNanoseconds, formatPlace, formatShare, plural, shortText } from "../../data/format";
import type { Page } from "../../data/page";
import type { PlacedFinding } from "../../data/types";
import { useLoaded } from "../../data/use_block";
import { Code, type Fold, type Heat, type LineMark, type Lit } from "../../parts/code";
import { Choice } from "../../parts/search";
import { Note, sourceText } from "../../parts/text";
import type { OpWork } from "./blocks";

interface Measure {
  readonly name: string;
  readonly title: string;
  value(op: OpWork): number | null;
  shown(value: number): string;
}

const MEASURES: readonly Measure[] = [
  { name: "time", title: "time at best", value: (op) => op.best_ns, shown: formatNanoseconds },
  { name: "device", title: "bytes of device memory", value: (op) => op.device_bytes, shown: formatBytes },
  { name: "chip", title: "bytes on chip", value: (op) => op.chip_bytes, shown: formatBytes },
  { name: "flops", title: "FLOPs", value: (op) => op.flops, shown: formatFlops },
];

interface SourceProps {
  readonly page: Page;
  readonly call: number;
  readonly ops: readonly OpWork[];
  readonly findings: readonly PlacedFinding[];
  readonly chosen: OpWork | null;
  readonly query: URLSearchParams;
}

/** Lines shown before the first with an op. */
const MARGIN = 8;

export function OnChipSource(props: SourceProps): JSX.Element {
  const { page, ops, chosen, query } = props;
  const variant = page.report.variants[page.report.calls[props.call]?.variant ?? -1];
  const files = (variant?.files ?? []).filter(({ text }) => text !== null);
  const known = MEASURES.filter((each) => ops.some((op) => each.value(op)));
  const measure = known.find(({ name }) => name === query.get("heat")) ?? known[0];
  const paths = useMemo(() => new Set(ops.map((op) => innermost(page, op.stack)?.[0])), [page, ops]);
  const file =
    files.find(({ path }) => path === query.get("file")) ?? files.find(({ path }) => paths.has(path)) ?? files[0];
  const loaded = useLoaded(file ? String(file.text) : null, file?.text == null ? null : () => page.text(file.text as number));
  const lines = useMemo(() => opsByLine(page, ops, file?.path ?? ""), [page, ops, file?.path]);
  const linked = useMemo(() => new Set(lines.keys()), [lines]);
  const heat = useMemo(() => (measure ? heatOf(measure, lines, ops) : null), [measure, lines]);
  const marks = useMemo(() => marksOf(page, props.findings, file?.path ?? ""), [props.findings, file?.path]);
  const held = Number(query.get("line")) || null;
  const lit = useMemo(() => {
    const found = new Map<number, Lit>();
    (page.report.stacks[chosen?.stack ?? -1] ?? []).forEach(([path, line], depth) => {
      if (path === file?.path && line !== null && !found.has(line)) found.set(line, depth ? "outer" : "there");
    });
    if (held !== null) found.set(held, "here");
    return found;
  }, [chosen, file?.path, held]);
  const folds = useMemo((): readonly Fold[] => {
    const first = Math.min(...lines.keys()) - (file?.first_line ?? 1) + 1;
    return Number.isFinite(first) && first > MARGIN + 2 ? [[1, first - MARGIN]] : [];
  }, [lines]);
  if (!file) return <Note>The source is not on this page.</Note>;
  return (
    <>
      <div class="toolbar">
        {measure ? (
          <Choice
            label="Heat"
            value={measure.name}
            options={known.map(({ name, title }) => [name, `${title} (derived)`])}
            onChoose={(name) => setQuery({ heat: name })}
          />
        ) : null}
        {files.length > 1 ? (
          <Choice
            label="File"
            value={file.path}
            options={files.map(({ path }) => [path, shortText(formatPlace(path, null), 60)])}
            onChoose={(path) => setQuery({ file: path, line: null })}
          />
        ) : null}
      </div>
      {loaded.state === "ready" ? (
        <Code
          id="source"
          text={loaded.value.text}
          language="python"
          label="Source of the kernel. Arrow keys go from line to line with ops, Escape lets go"
          firstLine={file.first_line}
          marks={marks}
          lit={lit}
          linked={linked}
          heat={heat}
          folds={folds}
          reveal={held}
          height="26rem"
          onChoose={(line) => setQuery({ line: line === held ? null : line, file: line === null ? null : file.path })}
        />
      ) : (
        <p class="muted">{loaded.state === "loading" ? "…" : "The source is not on this page."}</p>
      )}
    </>
  );
}

function innermost(page: Page, stack: number | null): readonly [string | null, number | null, string | null] | undefined {
  return page.report.stacks[stack ?? -1]?.[0];
}

/** Ops by their innermost line in a file. */
function opsByLine(page: Page, ops: readonly OpWork[], path: string): ReadonlyMap<number, readonly OpWork[]> {
  const lines = new Map<number, OpWork[]>();
  for (const op of ops) {
    const frame = innermost(page, op.stack);
    if (frame?.[0] !== path || frame[1] === null) continue;
    lines.set(frame[1], [...(lines.get(frame[1]) ?? []), op]);
  }
  return lines;
}

/** Whether an op stands on a line of a file. */
export function standsOn(page: Page, op: OpWork, line: number, file: string | null): boolean {
  return (page.report.stacks[op.stack ?? -1] ?? []).some((frame) => frame[1] === line && (file === null || frame[0] === file));
}

function heatOf(measure: Measure, lines: ReadonlyMap<number, readonly OpWork[]>, all: readonly OpWork[]): ReadonlyMap<number, Heat> {
  const sum = (ops: readonly OpWork[]): number => ops.reduce((whole, op) => whole + (measure.value(op) ?? 0), 0);
  const whole = sum(all);
  return new Map(
    [...lines].map(([line, ops]): [number, Heat] => {
      const engines = [...new Set(ops.map(({ engine }) => engine ?? "?"))].join(", ");
      const title = `${measure.title} of ${plural(ops.length, "op")} on ${engines}: ${formatShare(sum(ops), whole)}. ${sourceText("derived")}`;
      if (ops.every((op) => !measure.value(op))) return [line, { share: null, text: "", title }];
      return [line, { share: whole ? sum(ops) / whole : 0, text: measure.shown(sum(ops)), title }];
    }),
  );
}

function marksOf(page: Page, findings: readonly PlacedFinding[], path: string): ReadonlyMap<number, LineMark> {
  const marks = new Map<number, LineMark>();
  for (const { stack, found } of findings) {
    const frame = innermost(page, stack);
    const [file, line] = frame ?? [found.file, found.line];
    if (file === path && line !== null) marks.set(line, found.verdict === "violation" ? "violation" : "unknown");
  }
  return marks;
}
