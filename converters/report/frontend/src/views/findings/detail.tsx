// One finding with all that is known of it.

import type { JSX } from "preact";
import { useLayoutEffect } from "preact/hooks";

import { go, href } from "../../app/router";
import { formatCount, plural, shortText } from "../../data/format";
import type { Page } from "../../data/page";
import { KernelLink, Pill, Section } from "../../parts/text";
import { type Filter, type Listed, filtered, pillKind, pillText, sentence } from "./filter";
import { Frames } from "./frames";
import { findingHref, queryOf } from "./list";
import { Remedy } from "./remedy";
import { Witness } from "./witness";

interface DetailProps {
  readonly page: Page;
  readonly listed: Listed;
  readonly filter: Filter;
  readonly query: URLSearchParams;
}

export function Detail(props: DetailProps): JSX.Element {
  const { page, listed } = props;
  const { found, kernel } = listed.placed;
  return (
    <article id="finding">
      <p id="finding-message">
        <Pill kind={pillKind(listed)}>{pillText(listed)}</Pill> {shortText(sentence(listed), 1000)}
      </p>
      <p class="small">
        {kernel === null ? shortText(found.kernel, 120) : <KernelLink page={page} kernel={kernel} />}{" "}
        <span class="muted">
          {plural(found.calls, "distinct call")}, {plural(found.launches, "launch", "launches")}
          {found.method ? `; method: ${shortText(found.method, 60)}` : ""}
        </span>
      </p>
      <Section title="Source" id="source">
        <Frames page={page} placed={listed.placed} query={props.query} />
      </Section>
      <Witness page={page} listed={listed} />
      <Remedy page={page} listed={listed} />
    </article>
  );
}

/** Back to the list, and from one finding to the next in it. */
export function Steps(props: { page: Page; listed: Listed; filter: Filter }): JSX.Element {
  const { page, listed, filter } = props;
  const rows = filtered(page, filter);
  const at = rows.findIndex(({ key }) => key === listed.key);
  const [before, after] = [rows[at - 1], at < 0 ? rows[0] : rows[at + 1]];
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const target = event.composedPath()[0];
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (target instanceof HTMLElement && target.closest("input, select, textarea")) return;
      const to = event.key === "[" ? before : event.key === "]" ? after : undefined;
      if (to) go(`findings/${encodeURIComponent(to.key)}`, queryOf(filter));
      if (event.key === "Escape" && !event.defaultPrevented) go("findings", queryOf(filter));
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [before, after, filter.words, filter.rule, filter.verdict, filter.kernel]);
  return (
    <nav class="finding-steps" aria-label="Findings">
      <a href={href("findings", queryOf(filter))}>All findings</a>
      {before ? <a href={findingHref(before.key, filter)}>Previous</a> : null}
      {after ? <a href={findingHref(after.key, filter)}>Next</a> : null}
      <span class="muted">
        {at < 0 ? "not among those shown" : `${formatCount(at + 1)} of ${formatCount(rows.length)}`}
      </span>
    </nav>
  );
}
