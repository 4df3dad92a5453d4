// Where in the source it is: the frames that it was inlined through, those of a race's other side,
// and the lines around the chosen one.

import { useLayoutEffect, useMemo, useRef } from "preact/hooks";

import { href, setQuery } from "../../app/router";
import { formatPlace, shortText } from "../../data/format";
import type { Page } from "../../data/page";
import type { Frame, PlacedFinding } from "../../data/types";
import { Code, type LineMark } from "../../parts/code";
import { type Excerpt, useExcerpt } from "../../parts/excerpt";
import { markCaret } from "./caret";

/** Lines before and after. */
const AROUND = 6;

interface Place {
  /** In the address: "0" is the innermost frame, "o0" that of the other side. */
  readonly key: string;
  readonly frame: Frame;
  /** Known for the innermost frame. */
  readonly column: number | null;
  readonly role: string;
}

function placesOf(page: Page, { found, stack, other_stack: other }: PlacedFinding): Place[] {
  const side = (at: number | null, prefix: string, role: string): Place[] =>
    (page.report.stacks[at ?? -1] ?? []).map((frame, depth) => ({
      key: `${prefix}${depth}`,
      frame,
      column: depth === 0 && !prefix ? found.column : null,
      role: depth === 0 ? role : "called at",
    }));
  return [...side(stack, "", ""), ...side(other, "o", "against")];
}

export function Frames(props: { page: Page; placed: PlacedFinding; query: URLSearchParams }) {
  const { page, placed } = props;
  const places = useMemo(() => placesOf(page, placed), [page, placed]);
  const chosen = places.find(({ key }) => key === props.query.get("frame")) ?? places[0];
  if (!chosen) return <p class="muted">Where it stands in the source was not recorded.</p>;
  return (
    <>
      {places.length > 1 ? (
        <ol class="stack finding-frames" aria-label="Frames, the innermost first">
          {places.map((place) => (
            <li key={place.key}>
              {place.role ? <span class="muted">{place.role} </span> : null}
              <button
                type="button"
                class="quiet"
                aria-pressed={place === chosen}
                onClick={() => setQuery({ frame: place.key === "0" ? null : place.key })}
              >
                {shortText(formatPlace(place.frame[0], place.frame[1]), 80)}
              </button>{" "}
              <span class="muted">{shortText(place.frame[2] ?? "", 80)}</span>
            </li>
          ))}
        </ol>
      ) : null}
      <SourceAt page={page} placed={placed} place={chosen} />
    </>
  );
}

function SourceAt(props: { page: Page; placed: PlacedFinding; place: Place }) {
  const { page, placed } = props;
  const { frame, column } = props.place;
  const [path, line] = frame;
  const files = page.report.variants[placed.variant ?? -1]?.files ?? [];
  const { at, loading, excerpt } = useExcerpt(page, files, path, line, AROUND);
  const shown = useMemo(
    () => excerpt ?? recordedLine(placed, path, line),
    [excerpt, placed, path, line],
  );
  const box = useRef<HTMLDivElement>(null);
  const kind = placed.found.verdict === "violation" ? "violation" : "unknown";
  const marks = useMemo(
    () => new Map<number, LineMark>(line === null ? [] : [[line, kind]]),
    [line, kind],
  );
  useLayoutEffect(() => {
    const host = box.current?.querySelector(".code");
    if (host && shown && line !== null && column !== null)
      markCaret(host, line - shown.firstLine + 1, column, kind);
  }, [shown, line, column]);
  const place = shortText(formatPlace(path, line), 80) + (column === null ? "" : `:${column}`);
  const variant = placed.variant === null ? "" : `/variant/${placed.variant}`;
  const code = href(`kernel/${placed.kernel}${variant}`, { line, file: at > 0 ? at : null });
  return (
    <div id="excerpt" ref={box}>
      <p class="small wrap">
        {placed.kernel === null ? place : <a href={code}>{place}</a>}{" "}
        <span class="muted">{shortText(path ?? "", 200)}</span>
      </p>
      {shown ? (
        <Code
          key={props.place.key}
          {...shown}
          language="python"
          label={`Source at ${place}`}
          marks={marks}
          height="18rem"
        />
      ) : (
        <p class="muted">{loading ? "…" : "Its source is not on this page."}</p>
      )}
    </div>
  );
}

/** The finding's own line, which it brings along, where the file is not on the page. */
function recordedLine(
  { found }: PlacedFinding,
  path: string | null,
  line: number | null,
): Excerpt | null {
  if (found.source === null || found.file !== path || found.line !== line || line === null)
    return null;
  return { text: found.source, firstLine: line };
}
