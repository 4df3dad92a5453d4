// What the compiler made of a kernel, a tab for each of its stages.

import { useMemo } from "preact/hooks";
import { setQuery } from "../../app/router";
import type { SourceFile, Stage, Text } from "../../data/types";
import type { Loaded } from "../../data/use_block";
import { Code, type Lit, stageLanguage } from "../../parts/code";
import { Tabs } from "../../parts/tabs";
import { stageFolds, withoutLocations } from "./folding";
import { inheritedHeat, stageHeat } from "./heat";
import type { PaneProps } from "./source_pane";
import { revealed } from "./source_pane";
import { stageTitle } from "./state";

interface StagePaneProps extends PaneProps {
  readonly text: Loaded<Text>;
  readonly stages: readonly Stage[];
  readonly stage: Stage | null;
  /** The source file that is shown beside it. */
  readonly file: SourceFile | null;
  readonly files: readonly SourceFile[];
  readonly query: URLSearchParams;
}

export function StagePane(props: StagePaneProps) {
  const { stages, stage, links, active, held, measure, block, file, query } = props;
  const text = props.text.state === "ready" ? props.text.value.text : null;
  const locations = query.get("locations") === "1";
  const shown = useMemo(
    () => (text === null || locations ? text : withoutLocations(text)),
    [text, locations],
  );
  const folds = useMemo(
    () => (text === null || locations ? [] : stageFolds(text)),
    [text, locations],
  );
  const linked = useMemo(() => new Set(links.toSource.keys()), [links]);
  const lit = useMemo(() => litLines(props), [active, links, file]);
  const ownHeat = useMemo(
    () => (block && stage && measure ? stageHeat(block, stage.stage, measure) : null),
    [block, stage, measure],
  );
  const heat = useMemo(
    () => ownHeat ?? (block && measure ? inheritedHeat(block, links, props.files, measure) : null),
    [ownHeat, block, links, props.files, measure],
  );
  if (!stage) return null;
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
        <Code
          id="stage"
          text={shown}
          language={stageLanguage(stage.stage)}
          label={`${stageTitle(stage.stage)}. Arrow keys go from linked line to linked line, Escape lets go`}
          lit={lit}
          linked={linked}
          heat={heat}
          folds={folds}
          reveal={held ? revealed(lit) : null}
          onPoint={(line) => props.onPoint(line === null ? null : { pane: "stage", line })}
          onChoose={(line) => props.onChoose(line === null ? null : { pane: "stage", line })}
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

function litLines({ active, links, file }: StagePaneProps): ReadonlyMap<number, Lit> {
  const lit = new Map<number, Lit>();
  if (active?.pane === "stage") lit.set(active.line, "here");
  if (active?.pane !== "source") return lit;
  for (const { line, depth } of links.toStage.get(file?.path ?? "")?.get(active.line) ?? []) {
    lit.set(line, depth ? "outer" : "there");
  }
  return lit;
}
