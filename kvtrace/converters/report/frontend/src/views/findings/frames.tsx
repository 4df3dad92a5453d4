// Where in the source it is: the frames that it was inlined through, those of a race's other side,
// and the lines around the chosen one.

import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { href, setQuery } from "../../app/router";
import { formatPlace, shortText } from "../../data/format";
import type { Page } from "../../data/page";
import type { Frame, PlacedFinding, SourceFile } from "../../data/types";
import { useLoaded } from "../../data/use_block";
import { Code, type LineMark } from "../../parts/code";
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

export function placesOf(page: Page, { found, stack, other_stack: other }: PlacedFinding): Place[] {
  const frames = page.report.stacks[stack ?? -1] ?? [];
  const own = frames.map((frame, depth) => ({
    key: String(depth),
    frame,
    column: depth === 0 ? found.column : null,
    role: depth === 0 ? "" : "called at",
  }));
  const others = (page.report.stacks[other ?? -1] ?? []).map((frame, depth) => ({
    key: `o${depth}`,
    frame,
    column: null,
    role: depth === 0 ? "against" : "called at",
  }));
  return [...own, ...others];
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
      <Excerpt page={page} placed={placed} place={chosen} />
    </>
  );
}

function Excerpt(props: { page: Page; placed: PlacedFinding; place: Place }) {
  const { page, placed } = props;
  const { frame, column } = props.place;
  const [path, line] = frame;
  const variant = page.report.variants[placed.variant ?? -1];
  const at = variant?.files.findIndex((file) => file.path === path && file.text !== null) ?? -1;
  const file = variant?.files[at] ?? null;
  const number = file?.text ?? null;
  const loaded = useLoaded(
    number === null ? null : String(number),
    number === null ? null : () => page.text(number),
  );
  const peek = useMemo(
    () =>
      loaded.state === "ready"
        ? peekOf(loaded.value.text, file, line)
        : recordedLine(placed, path, line),
    [loaded.state, number, line, placed],
  );
  const box = useRef<HTMLDivElement>(null);
  const kind = placed.found.verdict === "violation" ? "violation" : "unknown";
  const marks = useMemo(
    () => new Map<number, LineMark>(line === null ? [] : [[line, kind]]),
    [line, kind],
  );
  useLayoutEffect(() => {
    const host = box.current?.querySelector(".code");
    if (host && peek && line !== null && column !== null) {
      markCaret(host, line - peek.firstLine + 1, column, kind);
    }
  }, [peek, line, column]);
  const place = shortText(formatPlace(path, line), 80) + (column === null ? "" : `:${column}`);
  return (
    <div id="excerpt" ref={box}>
      <p class="small wrap">
        {placed.kernel === null ? (
          place
        ) : (
          <a
            href={href(
              `kernel/${placed.kernel}${placed.variant === null ? "" : `/variant/${placed.variant}`}`,
              { line, file: at > 0 ? at : null },
            )}
          >
            {place}
          </a>
        )}{" "}
        <span class="muted">{shortText(path ?? "", 200)}</span>
      </p>
      {peek ? (
        <Code
          key={props.place.key}
          text={peek.text}
          language="python"
          label={`Source at ${place}`}
          firstLine={peek.firstLine}
          marks={marks}
          height="18rem"
        />
      ) : (
        <p class="muted">{loaded.state === "loading" ? "…" : "Its source is not on this page."}</p>
      )}
    </div>
  );
}

interface Peek {
  readonly text: string;
  readonly firstLine: number;
}

function peekOf(text: string, file: SourceFile | null, line: number | null): Peek | null {
  if (!file || line === null) return null;
  const lines = text.split("\n");
  const place = line - file.first_line;
  if (place < 0 || place >= lines.length) return null;
  const from = Math.max(0, place - AROUND);
  return {
    text: lines
      .slice(from, place + AROUND + 1)
      .join("\n")
      .trimEnd(),
    firstLine: file.first_line + from,
  };
}

/** The finding's own line, which it brings along, where the file is not on the page. */
function recordedLine(
  { found }: PlacedFinding,
  path: string | null,
  line: number | null,
): Peek | null {
  if (found.source === null || found.file !== path || found.line !== line || line === null)
    return null;
  return { text: found.source, firstLine: line };
}
