// What add-ons show of a finding on its page: each finding_part.tsx beside one of their views.

import type { ComponentType } from "preact";
import type { Finding } from "../../data/types";

export interface FindingPart {
  /** Whether this page has anything for the finding. */
  shown(found: Finding): boolean;
  readonly Component: ComponentType<{ readonly found: Finding }>;
}

const modules = import.meta.glob<{ default: FindingPart }>(
  "../../../../../../kvtrace/addons/*/frontend/*/finding_part.tsx",
  { eager: true },
);

export const PARTS: readonly FindingPart[] = Object.values(modules).map((module) => module.default);
