// A lazy block inside a component.

import { useEffect, useState } from "preact/hooks";
import { page, type Page } from "./page";
import type { Text } from "./types";

export type Loaded<T> =
  | { readonly state: "missing" }
  | { readonly state: "loading" }
  | { readonly state: "failed"; readonly reason: string }
  | { readonly state: "ready"; readonly value: T };

/** A JSON block of the page, decoded when the component is first shown. */
export function useBlock<T>(page: Page, name: string | null): Loaded<T> {
  const wanted = name !== null && page.has(name) ? name : null;
  return useLoaded(wanted, wanted === null ? null : () => page.block<T>(wanted));
}

/** A source file or compiler stage, by its number in the report. */
export function useText(number: number | null): Loaded<Text> {
  return useBlock<Text>(page, number === null ? null : `texts/${number}`);
}

/** What a promise gives; a new `key` asks again, null asks for nothing. */
export function useLoaded<T>(key: string | null, load: (() => Promise<T>) | null): Loaded<T> {
  const [result, setResult] = useState<{ key: string; loaded: Loaded<T> } | null>(null);
  useEffect(() => {
    if (key === null || load === null) return undefined;
    let wanted = true;
    const show = (loaded: Loaded<T>): void => {
      if (wanted) setResult({ key, loaded });
    };
    load().then(
      (value) => show({ state: "ready", value }),
      (problem: unknown) => show({ state: "failed", reason: String(problem) }),
    );
    return () => {
      wanted = false;
    };
  }, [key]);
  const loading = key !== null && result?.key !== key;
  useEffect(() => (loading ? waiting() : undefined), [loading]);
  if (key === null) return { state: "missing" };
  return result?.key === key ? result.loaded : { state: "loading" };
}

/** Count, for tests of the page, the components that are still waiting for their data. */
function waiting(): () => void {
  const attributes = document.documentElement.dataset;
  const add = (change: number): void => {
    attributes["waiting"] = String(Number(attributes["waiting"] ?? 0) + change);
  };
  add(1);
  return () => add(-1);
}
