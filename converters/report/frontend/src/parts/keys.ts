// Keys of the whole page: for who is not typing, and without a modifier.

import { useEffect, useRef } from "preact/hooks";

export type Actions = Readonly<Record<string, () => void>>;

/** Listen until the returned function is called. */
export function listenForKeys(actions: () => Actions): () => void {
  const onKey = (event: KeyboardEvent): void => {
    const target = event.composedPath()[0];
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (target instanceof HTMLElement && target.closest("input, select, textarea, dialog")) return;
    const own = actions();
    const action = Object.hasOwn(own, event.key) ? own[event.key] : undefined;
    if (!action) return;
    event.preventDefault();
    action();
  };
  window.addEventListener("keydown", onKey);
  return () => window.removeEventListener("keydown", onKey);
}

/** Keys of a view, as long as it is shown. */
export function useKeys(actions: Actions): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => listenForKeys(() => latest.current), []);
}
