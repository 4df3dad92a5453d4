// What add-ons show of a kernel on its page: each kernel_fact.tsx beside one of their views.

import type { ComponentType } from "preact";

export interface KernelFact {
  readonly title: string;
  /** Whether this page has anything for it. */
  shown(): boolean;
  readonly Component: ComponentType<{ readonly kernel: number }>;
}

const found = import.meta.glob<{ default: KernelFact }>(
  "../../../../../../kvtrace/addons/*/frontend/*/kernel_fact.tsx",
  { eager: true },
);

export const FACTS: readonly KernelFact[] = Object.values(found).map((module) => module.default);
