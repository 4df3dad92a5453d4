// The lines around a place in a variant's source, with what is meant lit or underlined.

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { formatPlace, shortText } from "../data/format";
import { page } from "../data/page";
import type { Frame } from "../data/types";
import { useText } from "../data/use_block";
import { Code, type LineMark, type Lit } from "./code";
import { InEditor, variantHref } from "./text";

export interface Excerpt {
  readonly text: string;
  readonly firstLine: number;
}

/** Lines before and after. */
const AROUND = 6;

interface SourceExcerptProps {
  readonly variant: number | null;
  readonly frame: Frame;
  /** What is there is underlined. */
  readonly column?: number | null;
  /** How the line is marked; without it, it lights up. */
  readonly mark?: LineMark;
  /** What is shown where the file is not on the page. */
  readonly instead?: Excerpt | null;
  /** Shown after the place. */
  readonly children?: ComponentChildren;
}

export function SourceExcerpt(props: SourceExcerptProps) {
  const { variant, frame, column = null, mark } = props;
  const [path, line] = frame;
  const files = page.report.variants[variant ?? -1]?.files ?? [];
  const at = files.findIndex((file) => file.path === path && file.text !== null);
  const file = files[at];
  const loaded = useText(file?.text ?? null);
  const excerpt = useMemo(() => {
    if (loaded.state !== "ready" || !file || line === null) return null;
    const lines = loaded.value.text.split("\n");
    const place = line - file.first_line;
    if (place < 0 || place >= lines.length) return null;
    const from = Math.max(0, place - AROUND);
    const text = lines.slice(from, place + AROUND + 1).join("\n");
    return { text: text.trimEnd(), firstLine: file.first_line + from };
  }, [loaded, line]);
  const shown = excerpt ?? props.instead;
  const dressing = useMemo(() => {
    if (line === null) return {};
    if (!mark) return { lit: new Map<number, Lit>([[line, "outer"]]) };
    const underlined = column === null ? {} : { underlined: { line, column } };
    return { marks: new Map([[line, mark]]), ...underlined };
  }, [line, column, mark]);
  const place = `${shortText(formatPlace(path, line), 80)}${column === null ? "" : `:${column}`}`;
  const code = variantHref(variant ?? -1, { line, file: at > 0 ? at : null });
  return (
    <>
      <p class="small wrap">
        {variant === null ? place : <a href={code}>{place}</a>}{" "}
        <InEditor file={path} line={line} column={column} />{" "}
        <span class="muted">{props.children}</span>
      </p>
      {shown ? (
        <Code
          {...shown}
          {...dressing}
          language="python"
          label={`Source at ${place}`}
          height="18rem"
        />
      ) : (
        <p class="muted">{loaded.state === "loading" ? "…" : "Its source is not on this page."}</p>
      )}
    </>
  );
}
