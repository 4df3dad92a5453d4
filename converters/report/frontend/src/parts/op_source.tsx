// A source file with what the ops of each line come to; the lines of the chosen op are lit.

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { setQuery } from "../app/router";
import { formatPlace, formatShare, plural, shortText } from "../data/format";
import { page } from "../data/page";
import type { Stack } from "../data/types";
import { useText } from "../data/use_block";
import { Code, type Fold, type Heat, type LineMark, type Lit } from "./code";
import { Choice } from "./search";
import { Note, sourceText } from "./text";

/** Lines shown before the first with an op: its function's head. */
const MARGIN = 8;

interface OpSourceProps<Op> {
  readonly variant: number;
  readonly label: string;
  readonly ops: readonly Op[];
  readonly chosen: Op | null;
  /** What the address says: the file that is shown, and the line that is held. */
  readonly file: string | null;
  readonly line: number | null;
  readonly marks?: (path: string) => ReadonlyMap<number, LineMark>;
  /** Shown beside the choice of files. */
  readonly controls?: ComponentChildren;
  /** Where an op is from; pass the same function again where nothing changed. */
  readonly framesOf: (op: Op) => Stack;
  /** Whether an op counts on its own line only, and not on the lines of its callers. */
  readonly innermost?: boolean;
  /** What lines are heated by; the same object again where nothing changed. null: nothing is. */
  readonly measure: OpMeasure<Op> | null;
}

/** A figure of ops that a line can have. */
export interface OpMeasure<Op> {
  readonly title: string;
  /** Of several ops; 0: nothing worth showing. */
  total(ops: readonly Op[]): number;
  shown(value: number): string;
  /** Whose ops a line has, and how it was counted. */
  said(ops: readonly Op[]): readonly [whose: string, how?: string];
}

function heatOf<Op>(
  { title, total, shown, said }: OpMeasure<Op>,
  ops: readonly Op[],
  whole: number,
): Heat {
  const own = total(ops);
  const [whose, how] = said(ops);
  return {
    share: own && whole ? own / whole : null,
    text: own ? shown(own) : "",
    title: `${title} of ${plural(ops.length, "op")}${whose}: ${formatShare(own, whole)}. ${sourceText("derived", how)}`,
  };
}

export function OpSource<Op>(props: OpSourceProps<Op>) {
  const { ops, chosen, line: held, framesOf, measure } = props;
  const files = (page.report.variants[props.variant]?.files ?? []).filter(
    (each) => each.text !== null,
  );
  const countedOn = useMemo(
    () => (op: Op) => (props.innermost ? framesOf(op).slice(0, 1) : framesOf(op)),
    [framesOf],
  );
  const paths = useMemo(
    () => new Set(ops.flatMap((op) => countedOn(op).map(([path]) => path))),
    [ops, countedOn],
  );
  const frames = useMemo(() => (chosen === null ? [] : framesOf(chosen)), [chosen, framesOf]);
  const has = (path: string | null | undefined) => files.find((each) => each.path === path);
  const own = frames.find(([path]) => has(path))?.[0];
  const file = has(props.file) ?? has(own) ?? files.find(({ path }) => paths.has(path)) ?? files[0];
  const loaded = useText(file?.text ?? null);
  const lines = useMemo(() => opsByLine(ops, countedOn, file?.path), [ops, countedOn, file?.path]);
  const linked = useMemo(() => new Set(lines.keys()), [lines]);
  const heat = useMemo(() => {
    if (!measure) return null;
    const whole = measure.total(ops);
    return new Map([...lines].map(([line, own]) => [line, heatOf(measure, own, whole)]));
  }, [lines, measure, ops]);
  const marks = useMemo(() => props.marks?.(file?.path ?? ""), [props.marks, file?.path]);
  const folds = useMemo((): readonly Fold[] => {
    const first = Math.min(...lines.keys()) - (file?.first_line ?? 1) + 1;
    return Number.isFinite(first) && first > MARGIN + 2 ? [[1, first - MARGIN]] : [];
  }, [lines]);
  const lit = useMemo(() => {
    const found = new Map<number, Lit>();
    frames.forEach(([path, line], depth) => {
      if (path === file?.path && line !== null && !found.has(line))
        found.set(line, depth ? "outer" : "there");
    });
    if (held !== null) found.set(held, "here");
    return found;
  }, [frames, file?.path, held]);
  if (!file) return <Note>The source is not on this page.</Note>;
  return (
    <>
      <div class="toolbar">
        {props.controls}
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
          label={`${props.label}. Arrow keys go from line to line with ops, Escape releases it`}
          firstLine={file.first_line}
          lit={lit}
          linked={linked}
          heat={heat}
          folds={folds}
          reveal={held}
          height="26rem"
          onChoose={(line) =>
            setQuery({ line: line === held ? null : line, file: line === null ? null : file.path })
          }
          {...(marks && { marks })}
        />
      ) : (
        <p class="muted">{loaded.state === "loading" ? "…" : "The source is not on this page."}</p>
      )}
    </>
  );
}

/** Ops by the lines of a file in their frames. */
function opsByLine<Op>(
  ops: readonly Op[],
  framesOf: (op: Op) => Stack,
  path: string | undefined,
): ReadonlyMap<number, readonly Op[]> {
  const lines = new Map<number, Op[]>();
  for (const op of ops) {
    const own = framesOf(op).flatMap(([file, line]) =>
      file === path && line !== null ? [line] : [],
    );
    for (const line of new Set(own)) {
      const others = lines.get(line);
      if (others) others.push(op);
      else lines.set(line, [op]);
    }
  }
  return lines;
}
