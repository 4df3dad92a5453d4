// Says which lines belong together, with the whole call stack of what was inlined.

import type { JSX } from "preact";

import { address, href } from "../../app/router";
import { formatPlace, plural, shortText } from "../../data/format";
import type { SourceFile } from "../../data/types";
import { type Links, type SourcePlace, lineRanges } from "./links";
import { type Place, stageTitle } from "./state";

interface LinkStatusProps {
  readonly links: Links;
  readonly active: Place | null;
  readonly held: boolean;
  readonly file: SourceFile | null;
  readonly files: readonly SourceFile[];
  readonly stage: string | null;
}

export function LinkStatus(props: LinkStatusProps): JSX.Element {
  return (
    <p class="kernel-status small" id="link-status" aria-live="polite">
      <Said {...props} />
    </p>
  );
}

function Said(props: LinkStatusProps): JSX.Element {
  const { links, active, held, file, files } = props;
  const stage = stageTitle(props.stage ?? "");
  if (!active || !props.stage) {
    return (
      <span class="muted">
        Point at a line to see what belongs to it; click to hold it, or go through linked lines with
        the arrow keys.
      </span>
    );
  }
  const end = held ? <span class="muted"> (held; Escape or another click lets go)</span> : null;
  if (active.pane === "stage") {
    const frames = links.toSource.get(active.line) ?? [];
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
  const own = places.filter(({ depth }) => !depth).map(({ line }) => line);
  const inlined = places.filter(({ depth }) => depth).map(({ line }) => line);
  const told = [
    own.length ? `${plural(own.length, `${stage} line`)}: ${lineRanges(own)}` : "",
    inlined.length ? `${plural(inlined.length, "line")} inlined into it: ${lineRanges(inlined)}` : "",
  ];
  return (
    <>
      {formatPlace(shortText(file?.path), active.line)} became{" "}
      {told.filter(Boolean).join("; ") || `no ${stage} line`}
      {end}
    </>
  );
}

/** A frame; a link where its file is on the page. */
function FrameLink({ frame, files }: { frame: SourcePlace; files: readonly SourceFile[] }): JSX.Element {
  const at = files.findIndex(({ path }) => path === frame.path);
  const text = shortText(formatPlace(frame.path, frame.line), 80);
  if (at < 0) return <span title={shortText(frame.path)}>{text}</span>;
  const { path, query } = address.value;
  const values = { ...Object.fromEntries(query), ir: null, file: at || null, line: frame.line };
  return <a href={href(path.replace(/^\//, ""), values)}>{text}</a>;
}
