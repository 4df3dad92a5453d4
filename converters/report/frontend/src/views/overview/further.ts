// What add-ons show first of all on the first screen: each of their overview_part.tsx.

import type { ComponentType } from "preact";

export interface OverviewPart {
  /** Whether this page has anything for it. */
  shown(): boolean;
  readonly Component: ComponentType;
}

const found = import.meta.glob<{ default: OverviewPart }>(
  "../../../../../../kvtrace/addons/*/frontend/*/overview_part.tsx",
  { eager: true },
);

export const PARTS: readonly OverviewPart[] = Object.values(found).map((module) => module.default);
