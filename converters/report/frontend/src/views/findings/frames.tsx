// Where in the source it is: the frames that it was inlined through, those of a race's other side,
// and the lines around the chosen one.

import { useMemo } from "preact/hooks";
import { chosen, setQuery } from "../../app/router";
import { formatPlace, shortText } from "../../data/format";
import { page } from "../../data/page";
import type { Frame, PlacedFinding } from "../../data/types";
import { type Excerpt, SourceExcerpt } from "../../parts/excerpt";

interface Place {
  /** In the address: "0" is the innermost frame, "o0" that of the other side. */
  readonly key: string;
  readonly frame: Frame;
  /** Known for the innermost frame. */
  readonly column: number | null;
  readonly role: string;
}

function placesOf({ found, stack, other_stack: other }: PlacedFinding): Place[] {
  const side = (at: number | null, prefix: string, role: string): Place[] =>
    (page.report.stacks[at ?? -1] ?? []).map((frame, depth) => ({
      key: `${prefix}${depth}`,
      frame,
      column: depth === 0 && !prefix ? found.column : null,
      role: depth === 0 ? role : "called at",
    }));
  return [...side(stack, "", ""), ...side(other, "o", "against")];
}

export function Frames({ placed }: { placed: PlacedFinding }) {
  const places = useMemo(() => placesOf(placed), [placed]);
  const shown = places.find(({ key }) => key === chosen("frame")) ?? places[0];
  if (!shown) return <p class="muted">Its source location was not recorded.</p>;
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
                aria-pressed={place === shown}
                onClick={() => setQuery({ frame: place.key === "0" ? null : place.key })}
              >
                {shortText(formatPlace(place.frame[0], place.frame[1]), 80)}
              </button>{" "}
              <span class="muted">{shortText(place.frame[2] ?? "", 80)}</span>
            </li>
          ))}
        </ol>
      ) : null}
      <div id="excerpt">
        <SourceExcerpt
          key={shown.key}
          variant={placed.variant}
          frame={shown.frame}
          column={shown.column}
          mark={placed.found.verdict === "violation" ? "violation" : "unknown"}
          instead={recordedLine(placed, shown.frame)}
        >
          {shortText(shown.frame[0] ?? "", 200)}
        </SourceExcerpt>
      </div>
    </>
  );
}

/** The finding's own line, which it brings along, where the file is not on the page. */
function recordedLine({ found }: PlacedFinding, [path, line]: Frame): Excerpt | null {
  const here = found.file === path && found.line === line;
  return found.source !== null && here && line !== null
    ? { text: found.source, firstLine: line }
    : null;
}
