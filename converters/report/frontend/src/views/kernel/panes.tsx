// The source of a kernel, or of what was inlined into it, and what the compiler made of it: a stage
// beside the source, or beside another one.

import { useMemo } from "preact/hooks";
import { chosen, setQuery } from "../../app/router";
import { baseName, formatPlace, shortText } from "../../data/format";
import type { Kernel, SourceFile, Stage } from "../../data/types";
import { Code, type Heat, type Lit, stageLanguage } from "../../parts/code";
import { CopyAndSave } from "../../parts/copy";
import { Tabs } from "../../parts/tabs";
import { Note } from "../../parts/text";
import type { LinesBlock, SourceLineFigures } from "./blocks";
import { sourceFolds, stageFolds, withoutLocations } from "./folding";
import { inheritedHeat, type Measure, stageHeat } from "./heat";
import { type Links, litLines, type SourcePlace } from "./links";
import { type MarkedFinding, marksOf } from "../../parts/finding_marks";
import { type Place, stageTitle } from "./state";

/** What both panes are given. */
interface PaneProps {
  /** null: it is not there yet, or not on this page. */
  readonly text: string | null;
  /** Of the stage in the pane; for the source, of the stage beside it. */
  readonly links: Links;
  /** The line that lights up, and the lines of the source that it is from. */
  readonly active: Place | null;
  readonly frames: readonly SourcePlace[];
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
  props: PaneProps & {
    pane: Place["pane"];
    code: Omit<CodeProps, "id" | "lit" | "reveal">;
  },
) {
  const { links, active, frames, held, file, pane, code } = props;
  const path = file?.path ?? "";
  const lit = useMemo(
    () => litLines(frames, pane, active, links, path),
    [active, frames, links, pane, path],
  );
  const placeOf = (line: number | null): Place | null => (line === null ? null : { pane, line });
  return (
    <Code
      {...code}
      id={pane}
      label={`${code.label}. Arrow keys go from linked line to linked line, Escape releases it`}
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
  readonly heat: ReadonlyMap<number, Heat> | null;
  readonly findings: readonly MarkedFinding[];
}

export function SourcePane(props: SourcePaneProps) {
  const { text, file, kernel, links, figures, heat } = props;
  const path = file?.path ?? "";
  const stageLines = links.toStage.get(path);
  const linked = useMemo(() => new Set(stageLines?.keys()), [stageLines]);
  const marks = useMemo(() => marksOf(props.findings, path), [props.findings, path]);
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
      <div class="kernel-pane-head">
        <h3 title={shortText(file.path)}>
          Source: <code>{shortText(formatPlace(file.path, null), 60)}</code>
        </h3>
        <CopyAndSave what="the source" name={baseName(file.path)} text={text} />
      </div>
      <LinkedCode
        {...props}
        pane="source"
        code={{ text, language: "python", label: "Source", firstLine, marks, linked, heat, folds }}
      />
    </>
  );
}

interface StageProps extends PaneProps {
  readonly stage: Stage;
  readonly files: readonly SourceFile[];
}

/** A stage beside another one. */
export function LeftStage(props: StageProps) {
  return (
    <>
      <div class="kernel-pane-head">
        <h3>{stageTitle(props.stage.stage)}</h3>
        <SaveStage {...props} />
      </div>
      <StageText {...props} pane="left" />
    </>
  );
}

/** The stage that is chosen from tabs. */
export function StagePane(props: StageProps & { stages: readonly Stage[] }) {
  const { stages, stage } = props;
  return (
    <Tabs
      label="Compiler stages"
      tabs={stages.map((each) => ({ name: each.stage, title: stageTitle(each.stage) }))}
      chosen={stage.stage}
      onChoose={(name) => setQuery({ stage: name, ir: null })}
      aside={
        <span class="small">
          <SaveStage {...props} />{" "}
          <label>
            <input
              type="checkbox"
              id="locations"
              checked={withLocations()}
              onChange={(event) => setQuery({ locations: event.currentTarget.checked ? 1 : null })}
            />{" "}
            locations
          </label>
        </span>
      }
    >
      <StageText {...props} pane="stage" />
    </Tabs>
  );
}

function withLocations(): boolean {
  return chosen("locations") === "1";
}

function SaveStage({ stage: { stage }, text }: StageProps) {
  if (text === null) return null;
  return <CopyAndSave what={stageTitle(stage)} name={`kernel.${stage}`} text={text} />;
}

function StageText(props: StageProps & { pane: Place["pane"] }) {
  const { text, stage, links, measure, block, files, pane } = props;
  const locations = withLocations();
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
    () => (block && measure ? stageHeat(block, stage.stage, measure) : null),
    [block, stage, measure],
  );
  const heat = useMemo(
    () => ownHeat ?? (block && measure ? inheritedHeat(block, links, files, measure) : null),
    [ownHeat, block, links, files, measure],
  );
  const language = stageLanguage(stage.stage);
  const label = stageTitle(stage.stage);
  return (
    <>
      {shown === null ? null : (
        <LinkedCode
          {...props}
          pane={pane}
          code={{ text: shown, language, label, linked, heat, folds }}
        />
      )}
      {measure && block && !ownHeat ? (
        <p class="small muted">
          Figures are derived from the TTIR. A bar here is the heat of the source line that a line
          is from, as a whole.
        </p>
      ) : null}
    </>
  );
}
