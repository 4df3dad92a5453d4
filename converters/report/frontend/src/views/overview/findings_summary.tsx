// What was found, the worst first: a line of counts, then each rule with its verdicts.

import { useMemo } from "preact/hooks";
import { href } from "../../app/router";
import { formatCount, formatPlace, plural, shortText } from "../../data/format";
import { page } from "../../data/page";
import type { FindingCount, Kernel } from "../../data/types";
import { figure } from "../../parts/columns";
import { type Column, Table } from "../../parts/table";
import { countsAs, totals } from "../findings/counts";
import { causesOf, type Filter, isViolation, pillKind, sentence } from "../findings/filter";
import { findingHref } from "../findings/list";
import {
  JudgedChip,
  NotJudged,
  NotReached,
  Pill,
  severityKind,
  ShortPlace,
} from "../../parts/text";

/** What is counted of a rule. */
interface RuleRow {
  readonly rule: string;
  readonly severity: string | null;
  /** Accesses, over unique calls, by severity, the gravest first. */
  readonly bySeverity: readonly (readonly [severity: string, count: number])[];
  /** Accesses by the class that a page counts them in: a severity, unknown, proven or suppressed. */
  readonly counted: Readonly<Record<string, number>>;
}

/** No filter: all findings. */
const ALL: Filter = { words: "", rule: "", verdict: "", kernel: "" };

const SEVERITIES = ["error", "warning", "note"];

export function FindingsSummary() {
  const { finding_counts: counts, judged } = page.report;
  const rows = useMemo(() => ruleRows(counts ?? []), [counts]);
  const [listed, clean] = useMemo(() => {
    const open = ({ bySeverity, counted }: RuleRow): boolean =>
      bySeverity.length > 0 || (counted["unknown"] ?? 0) > 0;
    const shown = rows.filter(open);
    return [shown, rows.filter((row) => !shown.includes(row))];
  }, [rows]);
  const isWhole = !page.report.partial?.verdicts && !page.report.kernels.some(isWithoutIr);
  const sums = totals(page.report);
  if (!counts) return <NotJudged report={page.report} />;
  return (
    <>
      {judged ? null : <NotJudged report={page.report} />}
      <NotReached report={page.report} />
      <p id="finding-counts">
        {SEVERITIES.map((severity) => {
          const count = sums.get(severity);
          return count ? (
            <span key={severity}>
              <Pill kind={severityKind(severity)}>{plural(count, severity)}</Pill>{" "}
            </span>
          ) : null;
        })}
        {judged ? (
          <JudgedChip
            report={page.report}
            words={SEVERITIES.some((each) => sums.get(each)) ? null : "no error, warning or note"}
          />
        ) : null}{" "}
        <a href={href("findings")}>All findings</a>
      </p>
      <FirstFindings />
      {listed.length ? (
        <Table
          caption="Findings by rule"
          columns={COLUMNS}
          rows={listed}
          leaving={["proven"]}
          empty="No verdicts."
        />
      ) : null}
      {clean.length ? (
        <p class="muted small">
          Proven safe, {isWhole ? "without exception" : "where judged"}:{" "}
          {clean.map(({ rule }) => rule).join(", ")}.
        </p>
      ) : null}
    </>
  );
}

/** Findings that the overview lists. */
const MOST = 5;

/** The gravest findings with their lines, each cause once. */
function FirstFindings() {
  const found = useMemo(
    () => causesOf(ALL).flatMap(([first]) => (first && isViolation(first) ? [first] : [])),
    [],
  );
  if (!found.length) return null;
  return (
    <ul class="first-findings">
      {found.slice(0, MOST).map((each) => (
        <li key={each.key}>
          <Pill kind={pillKind(each)}>{each.status}</Pill>{" "}
          <ShortPlace of={formatPlace(each.placed.found.file, each.placed.found.line)} />{" "}
          <a href={findingHref(each.key, ALL)}>{shortText(sentence(each), 300)}</a>
        </li>
      ))}
      {found.length > MOST ? (
        <li class="muted">
          and <a href={href("findings")}>{formatCount(found.length - MOST)} more</a>
        </li>
      ) : null}
    </ul>
  );
}

function isWithoutIr(kernel: Kernel): boolean {
  return kernel.without_ir && kernel.calls > 0;
}

/** Rules, those with the gravest findings first. */
function ruleRows(counts: readonly FindingCount[]): RuleRow[] {
  const rules = new Set(counts.map(({ rule }) => rule ?? "other"));
  const rows = [...rules].map((rule): RuleRow => {
    const ofRule = counts.filter(({ rule: of }) => (of ?? "other") === rule);
    const counted: Record<string, number> = {};
    for (const count of ofRule)
      counted[countsAs(count)] = (counted[countsAs(count)] ?? 0) + count.count;
    const bySeverity = SEVERITIES.map((name) => [name, counted[name] ?? 0] as const).filter(
      ([, count]) => count,
    );
    return { rule, severity: bySeverity[0]?.[0] ?? null, bySeverity, counted };
  });
  return rows.sort(
    (a, b) => rank(a) - rank(b) || gravest(b) - gravest(a) || (a.rule < b.rule ? -1 : 1),
  );
}

function gravest({ bySeverity }: RuleRow): number {
  return bySeverity[0]?.[1] ?? 0;
}

function rank({ severity }: RuleRow): number {
  return severity === null ? SEVERITIES.length : SEVERITIES.indexOf(severity);
}

function accesses(name: string, title: string): Column<RuleRow> {
  return figure(name, "derived", ({ counted }) => counted[name] ?? 0, "count", title);
}

const COLUMNS: readonly Column<RuleRow>[] = [
  {
    label: "Rule",
    cell: (row) => <a href={href("findings", { rule: row.rule })}>{row.rule}</a>,
    key: (row) => row.rule,
  },
  {
    ...figure<RuleRow>("findings", "derived", gravest),
    title: "Errors, warnings and notes on accesses, over unique calls",
    cell: ({ bySeverity }) =>
      bySeverity.length
        ? bySeverity.map(([severity, count]) => (
            <Pill key={severity} kind={severityKind(severity)}>
              {plural(count, severity)}
            </Pill>
          ))
        : "0",
  },
  accesses("unknown", "Accesses without a verdict, over unique calls"),
  accesses("proven", "Accesses that are proven safe, over unique calls"),
];
