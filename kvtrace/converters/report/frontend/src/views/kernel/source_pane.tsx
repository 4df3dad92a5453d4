// The source of a kernel, or of what was inlined into it.

import { useMemo } from "preact/hooks";
import { formatPlace, shortText } from "../../data/format";
import type { Page } from "../../data/page";
import type { SourceFile, Text } from "../../data/types";
import type { Loaded } from "../../data/use_block";
import { Code, type Lit } from "../../parts/code";
import { Note } from "../../parts/text";
import type { LinesBlock, SourceLineFigures } from "./blocks";
import { sourceFolds } from "./folding";
import { type Measure, sourceHeat } from "./heat";
import type { Links } from "./links";
import { type MarkedFinding, marksOf } from "./marks";
import type { Place } from "./state";

/** What both panes are given. */
export interface PaneProps {
  readonly page: Page;
  readonly links: Links;
  /** The line that lights up, with those that belong to it. */
  readonly active: Place | null;
  /** The line that stays lit. */
  readonly held: Place | null;
  readonly measure: Measure | null;
  readonly block: LinesBlock | null;
  onPoint(place: Place | null): void;
  onChoose(place: Place | null): void;
}

interface SourcePaneProps extends PaneProps {
  readonly text: Loaded<Text>;
  readonly file: SourceFile | null;
  /** Place in the report's kernels. */
  readonly kernel: number;
  readonly figures: ReadonlyMap<number, SourceLineFigures> | null;
  readonly findings: readonly MarkedFinding[];
}

export function SourcePane(props: SourcePaneProps) {
  const { file, links, active, held, measure, block, figures } = props;
  const path = file?.path ?? "";
  const text = props.text.state === "ready" ? props.text.value.text : null;
  const kernel = props.page.report.kernels[props.kernel];
  const stageLines = links.toStage.get(path);
  const linked = useMemo(() => new Set(stageLines?.keys()), [stageLines]);
  const lit = useMemo(() => litLines(props, path), [active, links, path]);
  const marks = useMemo(() => marksOf(props.findings, path), [props.findings, path]);
  const heat = useMemo(
    () => (block && figures && measure ? sourceHeat(block, figures, measure) : null),
    [block, figures, measure],
  );
  const folds = useMemo(
    () =>
      text !== null && file && kernel
        ? sourceFolds(text, file, kernel, [...linked, ...(figures?.keys() ?? []), ...marks.keys()])
        : [],
    [text, file, linked, figures, marks],
  );
  if (text === null || !file) {
    return (
      <>
        <h3>Source</h3>
        {props.text.state === "loading" ? null : <Note>The source is not on this page.</Note>}
      </>
    );
  }
  const reveal = held ? revealed(lit) : null;
  return (
    <>
      <h3 class="kernel-pane-head" title={shortText(file.path)}>
        Source: <code>{shortText(formatPlace(file.path, null), 60)}</code>
      </h3>
      <Code
        id="source"
        text={text}
        language="python"
        label="Source. Arrow keys go from linked line to linked line, Escape lets go"
        firstLine={file.first_line}
        marks={marks}
        lit={lit}
        linked={linked}
        heat={heat}
        folds={folds}
        reveal={reveal}
        onPoint={(line) => props.onPoint(line === null ? null : { pane: "source", line })}
        onChoose={(line) => props.onChoose(line === null ? null : { pane: "source", line })}
      />
    </>
  );
}

function litLines({ active, links }: PaneProps, path: string): ReadonlyMap<number, Lit> {
  const lit = new Map<number, Lit>();
  if (active?.pane === "source") lit.set(active.line, "here");
  if (active?.pane !== "stage") return lit;
  (links.toSource.get(active.line) ?? []).forEach((place, depth) => {
    if (place.path === path && !lit.has(place.line)) lit.set(place.line, depth ? "outer" : "there");
  });
  return lit;
}

/** The line to bring into view: the chosen one, or the innermost that belongs to it. */
export function revealed(lit: ReadonlyMap<number, Lit>): number | null {
  const lines = [...lit];
  const here = lines.find(([, how]) => how === "here");
  const there = lines.find(([, how]) => how === "there");
  return (here ?? there ?? lines[0])?.[0] ?? null;
}
