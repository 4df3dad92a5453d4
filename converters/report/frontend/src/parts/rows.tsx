// What shows launches or executions, which are read after all else.

import type { ComponentChildren } from "preact";
import { rowsRead } from "../data/page";

/** Children that need launches or executions: made once those are read. */
export function WithRows({ children }: { children: () => ComponentChildren }) {
  return rowsRead.value ? <>{children()}</> : <p class="muted">Reading launches …</p>;
}
