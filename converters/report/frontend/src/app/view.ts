// What a view is. A view is one folder in src/views with a view.tsx that default-exports it; the
// page finds it there, and nothing else needs to change.

import type { ComponentType } from "preact";
import type { Page } from "../data/page";

/** What the address says: `:name` parts of the route, and the query behind `?`. */
export interface ViewProps {
  readonly page: Page;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
}

/** A small figure behind the view's name in the navigation. */
export interface Badge {
  readonly text: string;
  readonly kind: "plain" | "error" | "warning";
}

/** Something that the search in the header found. */
export interface Found {
  readonly title: string;
  readonly detail: string;
  readonly href: string;
}

export interface View {
  /** The folder's name. */
  readonly name: string;
  /** The heading in the navigation and in the window's title. */
  readonly title: string;
  /** The navigation entry under which it is listed: its own name, another view's, or null. */
  readonly section: string | null;
  /** Place in the navigation. */
  readonly order: number;
  /** Address patterns without the leading "#/", as "kernel/:kernel"; the first is its own. */
  readonly routes: readonly string[];
  badge?(): Badge | null;
  /** Whether this page has anything for it; a view without this is always shown. */
  shown?(page: Page): boolean;
  /** What the header's search finds for some words; at most a dozen. */
  find?(words: string): readonly Found[];
  /** Its own keys, for the list of keys: [key, what it does]. */
  readonly keys?: readonly (readonly [key: string, action: string])[];
  readonly Component: ComponentType<ViewProps>;
}
