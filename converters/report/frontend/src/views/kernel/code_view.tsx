// A variant's source beside what the compiler made of it, with heat, findings and linked lines.

import { useMemo, useState } from "preact/hooks";
import { address, chosen, chosenNumber, href } from "../../app/router";
import { baseName, formatPlace, plural, shortText } from "../../data/format";
import { page } from "../../data/page";
import type { SourceFile, Stage, Text, Variant } from "../../data/types";
import { type Loaded, useBlock, useText } from "../../data/use_block";
import { Split } from "../../parts/beside";
import { type Heat, hottestLine } from "../../parts/code_dressing";
import { AddressChoice } from "../../parts/search";
import { Missing, NotDerived, Note } from "../../parts/text";
import type { LinesBlock } from "./blocks";
import { knownMeasures, linesOfFile, type Measure, sourceHeat } from "./heat";
import { LineTable } from "./line_table";
import { type Links, linksOf, NO_LINKS, sourceOf, type SourcePlace } from "./links";
import type { MarkedFinding } from "../../parts/finding_marks";
import { LeftStage, SourcePane, StagePane } from "./panes";
import { heldPlace, holdPlace, type Place, shownFiles, shownStages, stageTitle } from "./state";

interface CodeViewProps {
  readonly index: number;
  readonly variant: Variant;
  readonly findings: readonly MarkedFinding[];
}

export function CodeView(props: CodeViewProps) {
  const { variant } = props;
  const files = useMemo(() => shownFiles(variant), [variant]);
  const stages = useMemo(() => shownStages(variant), [variant]);
  const [pointed, setPointed] = useState<Place | null>(null);
  const [table, setTable] = useState(false);
  const named = (name: string | null): Stage | null =>
    stages.find((each) => each.stage === name) ?? null;
  const stage = named(chosen("stage")) ?? stages[0] ?? null;
  const beside = named(chosen("left"));
  const fileAt = files[chosenNumber("file") ?? 0] ? (chosenNumber("file") ?? 0) : 0;
  const file = files[fileAt] ?? null;
  const source = useText(file?.text ?? null);
  const compiled = useText(stage?.text ?? null);
  const lines = useBlock<LinesBlock>(page, `lines/${props.index}`);
  const block = lines.state === "ready" ? lines.value : null;
  const measures = useMemo(() => (block ? knownMeasures(block) : []), [block]);
  const measure = chosenMeasure(measures, chosen("heat"));
  const links = useLinks(compiled, files);
  const compiledBeside = useText(beside?.text ?? null);
  const linksBeside = useLinks(compiledBeside, files);
  const figures = useMemo(
    () => (block && file ? linesOfFile(block, file.path, files) : null),
    [block, file],
  );
  const heat = useMemo(
    () => (block && figures && measure ? sourceHeat(block, figures, measure) : null),
    [block, figures, measure],
  );
  const held = heldPlace();
  const active = held ?? pointed;
  const own = active?.pane === "left" ? linksBeside : links;
  const frames = useMemo(
    () => sourceOf(active, own, file?.path ?? ""),
    [active?.pane, active?.line, own, file],
  );

  if (!files.length && !stages.length) {
    if (page.report.kernels[page.report.variants[props.index]?.kernel ?? -1]?.without_ir) {
      return <Note>Neither source nor compiled code of this variant is on this page.</Note>;
    }
    return (
      <Missing
        what="Neither source nor compiled code of this variant is on this page: it was written with --no-source, there was no room, or none was recorded (KVTRACE_SOURCE=0). To have it:"
        command={`kvtrace report ${page.report.trace} -o report.html`}
      />
    );
  }

  /** Hold a line of a pane; a held one again, or one that nothing belongs to, lets go. */
  function choose(place: Place | null): void {
    const again = place && held?.pane === place.pane && held.line === place.line;
    setPointed(null);
    if (!place || again) holdPlace(null, fileAt);
    else holdPlace(place, place.pane === "source" ? fileAt : fileOfStageLine(place));
  }

  /** The file that shows where a line of the stage is from: this one if it does, else the innermost. */
  function fileOfStageLine({ pane, line }: Place): number {
    const frames = (pane === "left" ? linksBeside : links).toSource.get(line) ?? [];
    if (frames.some(({ path }) => path === file?.path)) return fileAt;
    const found = frames.map(({ path }) => files.findIndex((each) => each.path === path));
    return found.find((at) => at >= 0) ?? fileAt;
  }

  const shared = {
    links,
    frames,
    active,
    held,
    measure,
    block,
    file,
    onPoint: setPointed,
    onChoose: choose,
  };
  const textOf = (of: Loaded<Text>) => (of.state === "ready" ? of.value.text : null);
  const left = beside ? (
    <LeftStage
      {...shared}
      links={linksBeside}
      text={textOf(compiledBeside)}
      stage={beside}
      files={files}
    />
  ) : (
    <SourcePane
      {...shared}
      text={textOf(source)}
      loading={source.state === "loading"}
      kernel={page.report.kernels[variant.kernel]}
      figures={figures}
      heat={heat}
      findings={props.findings}
    />
  );
  return (
    <>
      <div class="toolbar">
        {stages.length > 1 ? (
          <AddressChoice
            label="On the left"
            name="left"
            options={[
              ["", "source"],
              ...stages.map((each) => [each.stage, stageTitle(each.stage)] as const),
            ]}
            also={{ beside: null }}
          />
        ) : null}
        {measures.length ? (
          <AddressChoice
            label="Heat"
            name="heat"
            options={[
              ...measures.map((each) => [each.name, each.title] as const),
              ["none", "none"],
            ]}
          />
        ) : null}
        {files.length > 1 ? (
          <AddressChoice
            label="Source file"
            name="file"
            options={files.map((each, at) => [String(at), shortText(baseName(each.path), 60)])}
            also={{ line: null }}
          />
        ) : null}
        {block ? (
          <button type="button" aria-expanded={table} onClick={() => setTable(!table)}>
            {table ? "Hide lines as a table" : "Lines as a table"}
          </button>
        ) : null}
      </div>
      <HeatNote lines={lines} measure={measure} heat={heat} variant={props.index} />
      {table && block && figures ? (
        <LineTable
          figures={figures}
          block={block}
          text={textOf(source) ?? ""}
          file={file}
          active={active}
          onChoose={choose}
        />
      ) : null}
      {stage ? (
        <Split
          left={left}
          right={
            <StagePane
              {...shared}
              text={textOf(compiled)}
              stages={stages}
              stage={stage}
              files={files}
            />
          }
        />
      ) : (
        left
      )}
      {stage ? (
        <LinkStatus
          links={links}
          frames={frames}
          active={active}
          file={file}
          files={files}
          stage={(active?.pane === "left" && beside ? beside : stage).stage}
          held={held !== null}
        />
      ) : (
        <Note>
          No compiler stage of this variant is on this page: none was recorded, or there was no
          room.
        </Note>
      )}
    </>
  );
}

function useLinks(text: Loaded<Text>, files: readonly SourceFile[]): Links {
  const value = text.state === "ready" ? text.value : null;
  return useMemo(() => (value ? linksOf(value.links, files) : NO_LINKS), [value, files]);
}

function chosenMeasure(measures: readonly Measure[], name: string | null): Measure | null {
  if (name === "none") return null;
  return measures.find((measure) => measure.name === name) ?? measures[0] ?? null;
}

interface HeatNoteProps {
  readonly lines: Loaded<LinesBlock>;
  readonly measure: Measure | null;
  /** Of the source file that is shown. */
  readonly heat: ReadonlyMap<number, Heat> | null;
  readonly variant: number;
}

function HeatNote({ lines, measure, heat, variant }: HeatNoteProps) {
  if (lines.state === "missing") {
    return (
      <NotDerived
        what="No heat per line: no call of this variant was replayed, or the report had no room for its figures."
        variant={variant}
      />
    );
  }
  if (lines.state === "failed")
    return <Note kind="warning">Heat cannot be read: {lines.reason}</Note>;
  if (lines.state === "loading" || !measure) return null;
  const hottest = hottestLine(heat);
  return (
    <p class="small muted" id="heat-note">
      {hottest === null ? null : (
        <>
          Hottest: <a href={lineHref(hottest)}>line {hottest}</a>, {heat?.get(hottest)?.text}.{" "}
        </>
      )}
      Heat is {measure.how} ({lines.value.measured ? "measured" : "derived"}). A line holds what was
      inlined into it too, so lines do not add up.
    </p>
  );
}

function lineHref(line: number): string {
  const { path, query } = address.value;
  return href(path.slice(1), { ...Object.fromEntries(query), line, ir: null, beside: null });
}

interface LinkStatusProps {
  readonly links: Links;
  readonly frames: readonly SourcePlace[];
  readonly active: Place | null;
  readonly held: boolean;
  readonly file: SourceFile | null;
  readonly files: readonly SourceFile[];
  /** The stage that the active line is of, or the one beside the source. */
  readonly stage: string;
}

function LinkStatus(props: LinkStatusProps) {
  return (
    <p class="kernel-status small" id="link-status" aria-live="polite">
      <Said {...props} />
    </p>
  );
}

function Said(props: LinkStatusProps) {
  const { links, frames, active, held, file, files } = props;
  const stage = stageTitle(props.stage);
  if (!active) {
    return (
      <span class="muted">
        Point at a line to see what belongs to it; click to hold it, or go through linked lines with
        the arrow keys.
      </span>
    );
  }
  const end = held ? (
    <span class="muted"> (pinned; Escape or another click releases it)</span>
  ) : null;
  if (active.pane !== "source") {
    return (
      <>
        {stage} line {active.line} {frames.length ? "is from " : "is from no line of the source"}
        {frames.map((frame, depth) => (
          <span key={depth}>
            {depth ? ", inlined at " : ""}
            <FrameLink frame={frame} files={files} />
          </span>
        ))}
        {end}
      </>
    );
  }
  const places = links.toStage.get(file?.path ?? "")?.get(active.line) ?? [];
  const own = places.filter(({ depth }) => !depth).length;
  const parts = [
    own ? plural(own, `${stage} line`) : "",
    places.length > own ? `${plural(places.length - own, "line")} inlined into it` : "",
  ];
  return (
    <>
      {formatPlace(shortText(file?.path), active.line)} became{" "}
      {parts.filter(Boolean).join("; ") || `no ${stage} line`}
      {end}
    </>
  );
}

/** A frame; a link where its file is on the page. */
function FrameLink({ frame, files }: { frame: SourcePlace; files: readonly SourceFile[] }) {
  const at = files.findIndex(({ path }) => path === frame.path);
  const text = shortText(formatPlace(frame.path, frame.line), 80);
  if (at < 0) return <span title={shortText(frame.path)}>{text}</span>;
  const { path, query } = address.value;
  const values = {
    ...Object.fromEntries(query),
    ir: null,
    beside: null,
    file: at || null,
    line: frame.line,
  };
  return <a href={href(path.replace(/^\//, ""), values)}>{text}</a>;
}
