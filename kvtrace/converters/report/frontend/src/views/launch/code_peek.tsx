// The lines around an op in its source.

import { useMemo } from "preact/hooks";

import { formatPlace, shortText } from "../../data/format";
import type { Page } from "../../data/page";
import { Code, type Lit } from "../../parts/code";
import { useExcerpt } from "../../parts/excerpt";
import { variantHref } from "../../parts/text";

/** Lines before and after. */
const AROUND = 5;

export function CodePeek(props: { page: Page; variant: number; stack: number | null }) {
  const { page } = props;
  const stack = page.report.stacks[props.stack ?? -1] ?? [];
  const files = page.report.variants[props.variant]?.files ?? [];
  const shown = stack.findIndex(([path]) =>
    files.some((file) => file.path === path && file.text !== null),
  );
  const [path, line] = stack[shown] ?? stack[0] ?? [null, null];
  const { excerpt, loading } = useExcerpt(page, files, path, line, AROUND);
  const lit = useMemo(() => new Map<number, Lit>(line === null ? [] : [[line, "outer"]]), [line]);
  if (!stack.length) return null;
  const calls = stack.slice(shown + 1, shown + 4).map(([path, line]) => formatPlace(path, line));
  return (
    <div id="code-peek">
      <p class="small muted wrap">
        <a href={variantHref(page.report, props.variant)}>{shortText(formatPlace(path, line))}</a>
        {calls.length ? `, called from ${shortText(calls.join(", "))}` : ""}
        {excerpt || loading ? "" : " (its source is not on this page)"}
      </p>
      {excerpt ? (
        <Code
          {...excerpt}
          language="python"
          label="Source around the op"
          lit={lit}
          height="15rem"
        />
      ) : null}
    </div>
  );
}
