// The lines around an op in its source.

import { useMemo } from "preact/hooks";

import { formatPlace, shortText } from "../../data/format";
import type { Page } from "../../data/page";
import { useLoaded } from "../../data/use_block";
import { Code, type Lit } from "../../parts/code";
import { variantHref } from "../../parts/text";

/** Lines before and after. */
const AROUND = 5;

export function CodePeek(props: { page: Page; variant: number; stack: number | null }) {
  const { page } = props;
  const stack = page.report.stacks[props.stack ?? -1] ?? [];
  const files = page.report.variants[props.variant]?.files ?? [];
  const at = stack.findIndex(([path]) =>
    files.some((file) => file.path === path && file.text !== null),
  );
  const frame = stack[at] ?? stack[0];
  const file = files.find(({ path }) => path === frame?.[0]);
  const number = file?.text ?? null;
  const loaded = useLoaded(
    number === null ? null : String(number),
    number === null ? null : () => page.text(number),
  );
  const line = frame?.[1] ?? null;
  const peek = useMemo(() => {
    if (loaded.state !== "ready" || !file || line === null) return null;
    const lines = loaded.value.text.split("\n");
    const place = line - file.first_line;
    if (place < 0 || place >= lines.length) return null;
    const from = Math.max(0, place - AROUND);
    return {
      text: lines.slice(from, place + AROUND + 1).join("\n"),
      firstLine: file.first_line + from,
    };
  }, [loaded.state, number, line]);
  const lit = useMemo(() => new Map<number, Lit>(line === null ? [] : [[line, "outer"]]), [line]);
  if (!frame) return null;
  const calls = stack.slice(at + 1, at + 4).map(([path, number]) => formatPlace(path, number));
  return (
    <div id="code-peek">
      <p class="small muted wrap">
        <a href={variantHref(page.report, props.variant)}>
          {shortText(formatPlace(frame[0], frame[1]))}
        </a>
        {calls.length ? `, called from ${shortText(calls.join(", "))}` : ""}
        {peek ? "" : loaded.state === "loading" ? "" : " (its source is not on this page)"}
      </p>
      {peek ? (
        <Code
          text={peek.text}
          language="python"
          label="Source around the op"
          firstLine={peek.firstLine}
          lit={lit}
          height="15rem"
        />
      ) : null}
    </div>
  );
}
