// The source of a kernel, or of what was inlined into it, and what the compiler made of it.

import { useMemo } from "preact/hooks";
import { chosen, setQuery } from "../../app/router";
import { formatPlace, shortText } from "../../data/format";
import type { Kernel, SourceFile, Stage } from "../../data/types";
import { Code, type Lit, stageLanguage } from "../../parts/code";
import { Tabs } from "../../parts/tabs";
import { Note } from "../../parts/text";
import type { LinesBlock, SourceLineFigures } from "./blocks";
import { sourceFolds, stageFolds, withoutLocations } from "./folding";
import { inheritedHeat, type Measure, sourceHeat, stageHeat } from "./heat";
import { type Links, litLines } from "./links";
import { type MarkedFinding, marksOf } from "../../parts/finding_marks";
import { type Place, stageTitle } from "./state";

/** What both panes are given. */
interface PaneProps {
  /** null: it is not there yet, or not on this page. */
  readonly text: string | null;
  readonly links: Links;
  /** The line that lights up, with those that belong to it. */
  readonly active: Place | null;
  /** The line that stays lit. */
  readonly held: Place | null;
  readonly measure: Measure | null;
  readonly block: LinesBlock | null;
  /** The source file that is shown. */
  readonly file: SourceFile | null;
  onPoint(place: Place | null): void;
  onChoose(place: Place | null): void;
}

type CodeProps = Parameters<typeof Code>[0];

function LinkedCode(
  props: Pick<PaneProps, "links" | "active" | "held" | "file" | "onPoint" | "onChoose"> & {
    pane: Place["pane"];
    code: Omit<CodeProps, "id" | "lit" | "reveal">;
  },
) {
  const { links, active, held, file, pane, code } = props;
  const path = file?.path ?? "";
  const lit = useMemo(() => litLines(links, active, pane, path), [active, links, pane, path]);
  const placeOf = (line: number | null): Place | null => (line === null ? null : { pane, line });
  return (
    <Code
      {...code}
      id={pane}
      label={`${code.label}. Arrow keys go from linked line to linked line, Escape lets go`}
      lit={lit}
      reveal={held ? revealed(lit) : null}
      onPoint={(line) => props.onPoint(placeOf(line))}
      onChoose={(line) => props.onChoose(placeOf(line))}
    />
  );
}

/** The line to bring into view: the chosen one, or the innermost that belongs to it. */
function revealed(lit: ReadonlyMap<number, Lit>): number | null {
  const lines = [...lit];
  const named = (wanted: Lit) => lines.find(([, how]) => how === wanted);
  return (named("here") ?? named("there") ?? lines[0])?.[0] ?? null;
}

interface SourcePaneProps extends PaneProps {
  readonly loading: boolean;
  readonly kernel: Kernel | undefined;
  readonly figures: ReadonlyMap<number, SourceLineFigures> | null;
  readonly findings: readonly MarkedFinding[];
}

export function SourcePane(props: SourcePaneProps) {
  const { text, file, kernel, links, measure, block, figures } = props;
  const path = file?.path ?? "";
  const stageLines = links.toStage.get(path);
  const linked = useMemo(() => new Set(stageLines?.keys()), [stageLines]);
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
        {props.loading ? null : <Note>The source is not on this page.</Note>}
      </>
    );
  }
  const { first_line: firstLine } = file;
  return (
    <>
      <h3 class="kernel-pane-head" title={shortText(file.path)}>
        Source: <code>{shortText(formatPlace(file.path, null), 60)}</code>
      </h3>
      <LinkedCode
        {...props}
        pane="source"
        code={{ text, language: "python", label: "Source", firstLine, marks, linked, heat, folds }}
      />
    </>
  );
}

interface StagePaneProps extends PaneProps {
  readonly stages: readonly Stage[];
  readonly stage: Stage | null;
  readonly files: readonly SourceFile[];
}

export function StagePane(props: StagePaneProps) {
  const { text, stages, stage, links, measure, block, files } = props;
  const locations = chosen("locations") === "1";
  const shown = useMemo(
    () => (text === null || locations ? text : withoutLocations(text)),
    [text, locations],
  );
  const folds = useMemo(
    () => (text === null || locations ? [] : stageFolds(text)),
    [text, locations],
  );
  const linked = useMemo(() => new Set(links.toSource.keys()), [links]);
  const ownHeat = useMemo(
    () => (block && stage && measure ? stageHeat(block, stage.stage, measure) : null),
    [block, stage, measure],
  );
  const heat = useMemo(
    () => ownHeat ?? (block && measure ? inheritedHeat(block, links, files, measure) : null),
    [ownHeat, block, links, files, measure],
  );
  if (!stage) return null;
  const language = stageLanguage(stage.stage);
  const label = stageTitle(stage.stage);
  return (
    <Tabs
      label="Compiler stages"
      tabs={stages.map((each) => ({ name: each.stage, title: stageTitle(each.stage) }))}
      chosen={stage.stage}
      onChoose={(name) => setQuery({ stage: name, ir: null })}
      aside={
        <label class="small">
          <input
            type="checkbox"
            id="locations"
            checked={locations}
            onChange={(event) => setQuery({ locations: event.currentTarget.checked ? 1 : null })}
          />{" "}
          locations
        </label>
      }
    >
      {shown === null ? null : (
        <LinkedCode
          {...props}
          pane="stage"
          code={{ text: shown, language, label, linked, heat, folds }}
        />
      )}
      {measure && block && !ownHeat ? (
        <p class="small muted">
          Figures are derived from the TTIR. A bar here is the heat of the source line that a line
          is from, as a whole.
        </p>
      ) : null}
    </Tabs>
  );
}
