// The lines around a place in a variant's source.

import { useMemo } from "preact/hooks";
import type { Page } from "../data/page";
import type { SourceFile } from "../data/types";
import { useText } from "../data/use_block";

export interface Excerpt {
  readonly text: string;
  readonly firstLine: number;
}

interface Found {
  /** Place of the file in the variant's; -1 where its text is not on the page. */
  readonly at: number;
  readonly loading: boolean;
  readonly excerpt: Excerpt | null;
}

/** `around`: lines before and after. */
export function useExcerpt(
  page: Page,
  files: readonly SourceFile[],
  path: string | null | undefined,
  line: number | null,
  around: number,
): Found {
  const at = files.findIndex((file) => file.path === path && file.text !== null);
  const file = files[at];
  const loaded = useText(page, file?.text ?? null);
  const excerpt = useMemo(() => {
    if (loaded.state !== "ready" || !file || line === null) return null;
    const lines = loaded.value.text.split("\n");
    const place = line - file.first_line;
    if (place < 0 || place >= lines.length) return null;
    const from = Math.max(0, place - around);
    const text = lines.slice(from, place + around + 1).join("\n");
    return { text: text.trimEnd(), firstLine: file.first_line + from };
  }, [loaded, line]);
  return { at, loading: loaded.state === "loading", excerpt };
}
