// Which findings are shown, in which order, and by which address each is known.

import { chosen } from "../../app/router";
import { page } from "../../data/page";
import type { PlacedFinding } from "../../data/types";
import { matches } from "../../parts/search";
import type { PillKind } from "../../parts/text";

/** What a finding counts as: its severity, unless it is unknown, suppressed or proven. */
type Status = "error" | "warning" | "note" | "unknown" | "suppressed" | "proven";

export interface Filter {
  readonly words: string;
  readonly rule: string;
  /** A status, or "violation" in addresses of older pages: an error, a warning or a note. */
  readonly verdict: string;
  /** Place in `Report.kernels`, as text; "" is all. */
  readonly kernel: string;
}

/** A finding and its address. */
export interface Listed {
  readonly key: string;
  readonly placed: PlacedFinding;
  readonly status: Status;
}

function statusOf({ found }: PlacedFinding): Status {
  if (found.suppressed) return "suppressed";
  if (found.verdict !== "violation") return found.verdict === "proven" ? "proven" : "unknown";
  return found.severity === "error" || found.severity === "warning" ? found.severity : "note";
}

export const STATUSES: readonly Status[] = [
  "error",
  "warning",
  "note",
  "unknown",
  "suppressed",
  "proven",
];

/** Errors first. */
export function rankOf({ status }: Listed): number {
  return STATUSES.indexOf(status);
}

export function pillKind({ status }: Listed): PillKind {
  if (status === "proven") return "fine";
  return status === "error" || status === "warning" ? status : "note";
}

let known: readonly Listed[] | null = null;

/** All findings, the gravest first; an id that several share is counted on. */
export function listedFindings(): readonly Listed[] {
  if (known) return known;
  const taken = new Map<string, number>();
  const listed = page.report.findings.map((placed) => {
    const id = placed.found.finding_id;
    const before = taken.get(id) ?? 0;
    taken.set(id, before + 1);
    return { key: before ? `${id}~${before + 1}` : id, placed, status: statusOf(placed) };
  });
  known = listed.sort((a, b) => rankOf(a) - rankOf(b));
  return known;
}

export function chosenFilter(): Filter {
  const [words, rule, verdict, kernel] = ["q", "rule", "verdict", "kernel"].map(
    (name) => chosen(name) ?? "",
  ) as [string, string, string, string];
  return { words, rule, verdict, kernel };
}

/** Whether it is an error, a warning or a note. */
export function isViolation({ status }: Listed): boolean {
  return STATUSES.indexOf(status) <= STATUSES.indexOf("note");
}

/** All kernels with the finding. */
export function kernelsOf({ kernel, other_kernels: others }: PlacedFinding): readonly number[] {
  return kernel === null ? others : [kernel, ...others];
}

export function filtered(filter: Filter): readonly Listed[] {
  return listedFindings().filter((each) => {
    const { found } = each.placed;
    if (filter.rule && found.rule !== filter.rule) return false;
    if (filter.verdict === "violation" && !isViolation(each)) return false;
    if (filter.verdict && ![each.status, "violation"].includes(filter.verdict)) return false;
    if (filter.kernel && !kernelsOf(each.placed).some((of) => String(of) === filter.kernel))
      return false;
    return wordsMatch(each, filter.words);
  });
}

/** Those of each cause that are like that, as the terminal prints them: once. */
export function causesOf(filter: Filter): readonly (readonly Listed[])[] {
  const groups = new Map<number, Listed[]>();
  const alone: Listed[][] = [];
  for (const each of filtered(filter)) {
    const { cause } = each.placed;
    if (cause === null) {
      if (filter.rule || filter.kernel) alone.push([each]); // a lint of generated code
    } else {
      const group = groups.get(cause);
      if (group) group.push(each);
      else groups.set(cause, [each]);
    }
  }
  return [...groups.values(), ...alone];
}

export function wordsMatch({ placed: { found }, status }: Listed, words: string): boolean {
  return matches(
    words,
    found.rule,
    status,
    found.severity,
    found.kernel,
    found.file,
    found.message,
    found.reason,
    found.arg,
    found.expression,
    found.source,
  );
}

/** What it says, in a sentence. */
export function sentence({ placed: { found } }: Listed): string {
  return found.message ?? found.reason ?? `${found.access ?? "access"} is ${found.verdict}`;
}
