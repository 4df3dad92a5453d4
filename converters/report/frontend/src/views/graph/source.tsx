// The source that was traced, each line with what its ops come to.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";

import { setQuery } from "../../app/router";
import { formatPlace, formatShare, plural, shortText } from "../../data/format";
import type { Page } from "../../data/page";
import type { SourceFile } from "../../data/types";
import { useLoaded } from "../../data/use_block";
import { Code, type Fold, type Heat, type Lit } from "../../parts/code";
import { Choice } from "../../parts/search";
import { Note, sourceText } from "../../parts/text";
import { type GraphColumns, framesOf } from "./blocks";
import type { Measure } from "./measures";

/** Lines shown before the first with an op: its function's head. */
const MARGIN = 8;

interface SourceProps {
  readonly page: Page;
  readonly graph: GraphColumns;
  readonly variant: number;
  readonly measure: Measure;
  readonly chosen: number | null;
  /** Of the address: what is held. */
  readonly file: string | null;
  readonly line: number | null;
}

export function GraphSource(props: SourceProps): JSX.Element {
  const { page, graph, measure, chosen } = props;
  const files = (page.report.variants[props.variant]?.files ?? []).filter(({ text }) => text !== null);
  const frames = chosen === null ? [] : framesOf(page, graph, chosen);
  const wanted = props.file ?? frames.find(([path]) => files.some((file) => file.path === path))?.[0];
  const file = files.find(({ path }) => path === wanted) ?? files.find(({ path }) => hasOps(page, graph, path)) ?? files[0];
  const loaded = useLoaded(file ? String(file.text) : null, file?.text == null ? null : () => page.text(file.text as number));
  const lines = useMemo(() => opsByLine(page, graph, file), [page, graph, file?.path]);
  const heat = useMemo(() => heatOf(graph, measure, lines), [graph, measure, lines]);
  const linked = useMemo(() => new Set(lines.keys()), [lines]);
  const folds = useMemo(() => (file ? foldsAround(lines, file.first_line) : []), [lines, file?.path]);
  const lit = useMemo(() => {
    const found = new Map<number, Lit>();
    frames.forEach(([path, line], depth) => {
      if (path === file?.path && line !== null && !found.has(line)) found.set(line, depth ? "outer" : "there");
    });
    if (props.line !== null) found.set(props.line, "here");
    return found;
  }, [chosen, graph, file?.path, props.line]);
  if (!file) return <Note>The source is not on this page.</Note>;
  return (
    <>
      {files.length > 1 ? (
        <div class="toolbar">
          <Choice
            label="File"
            value={file.path}
            options={files.map(({ path }) => [path, shortText(formatPlace(path, null), 60)])}
            onChoose={(path) => setQuery({ file: path, line: null })}
          />
        </div>
      ) : null}
      {loaded.state === "ready" ? (
        <Code
          id="source"
          text={loaded.value.text}
          language="python"
          label="Source that was traced. Arrow keys go from line to line with ops, Escape lets go"
          firstLine={file.first_line}
          lit={lit}
          linked={linked}
          heat={heat}
          folds={folds}
          reveal={props.line}
          height="26rem"
          onChoose={(line) => setQuery({ line: line === props.line ? null : line, file: line === null ? null : file.path })}
        />
      ) : (
        <p class="muted">{loaded.state === "loading" ? "…" : "The source is not on this page."}</p>
      )}
    </>
  );
}

/** Lines before those with ops and after them, left out until asked for. */
function foldsAround(lines: ReadonlyMap<number, unknown>, firstLine: number): readonly Fold[] {
  const first = Math.min(...lines.keys()) - firstLine + 1;
  if (!Number.isFinite(first) || first <= MARGIN + 2) return [];
  return [[1, first - MARGIN]];
}

function hasOps(page: Page, graph: GraphColumns, path: string): boolean {
  return [...new Set(graph.stack)].some((stack) => (page.report.stacks[stack ?? -1] ?? []).some(([file]) => file === path));
}

/** Ops with some frame on each line of a file. */
function opsByLine(page: Page, graph: GraphColumns, file: SourceFile | undefined): ReadonlyMap<number, readonly number[]> {
  const lines = new Map<number, number[]>();
  graph.stack.forEach((_, op) => {
    const own = new Set(framesOf(page, graph, op).flatMap(([path, line]) => (path === file?.path && line !== null ? [line] : [])));
    for (const line of own) {
      const ops = lines.get(line);
      if (ops) ops.push(op);
      else lines.set(line, [op]);
    }
  });
  return lines;
}

function heatOf(graph: GraphColumns, measure: Measure, lines: ReadonlyMap<number, readonly number[]>): ReadonlyMap<number, Heat> {
  const value = (op: number): number => measure.value(graph, op);
  const whole = graph.opcode.reduce((sum, _, op) => (measure.adds ? sum + value(op) : Math.max(sum, value(op))), 0);
  return new Map(
    [...lines].map(([line, ops]) => {
      const own = ops.reduce((sum, op) => (measure.adds ? sum + value(op) : Math.max(sum, value(op))), 0);
      const title = `${measure.title} of ${plural(ops.length, "op")}, with those called from here: ${formatShare(own, whole)}. ${sourceText("derived", measure.how)}`;
      return [line, { share: whole ? own / whole : 0, text: measure.shown(own), title }];
    }),
  );
}
