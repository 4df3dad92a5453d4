// All views, found by their folders: the page's own, and those of add-ons.

import type { View } from "./view";

const found = import.meta.glob<{ default: View }>(
  ["../views/*/view.tsx", "../../../../../kvtrace/addons/*/frontend/*/view.tsx"],
  { eager: true },
);

export const VIEWS: readonly View[] = Object.values(found)
  .map((module) => module.default)
  .sort((a, b) => a.order - b.order || (a.name < b.name ? -1 : 1));

export interface Match {
  readonly view: View;
  readonly params: Readonly<Record<string, string>>;
}

/** The view that an address's path belongs to, as "kernel/3". */
export function matchView(path: string, views: readonly View[] = VIEWS): Match | null {
  for (const view of views) {
    for (const route of view.routes) {
      const params = matchRoute(route, path);
      if (params) return { view, params };
    }
  }
  return null;
}

function matchRoute(route: string, path: string): Record<string, string> | null {
  const [wanted, given] = [segments(route), segments(path)];
  if (wanted.length !== given.length) return null;
  const params: Record<string, string> = {};
  for (const [place, part] of wanted.entries()) {
    const value = given[place] ?? "";
    if (part.startsWith(":")) params[part.slice(1)] = value;
    else if (part !== value) return null;
  }
  return params;
}

function segments(path: string): string[] {
  return path.split("/").filter(Boolean).map(decoded);
}

/** An address can be typed by hand: what is not a valid encoding is taken literally. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
