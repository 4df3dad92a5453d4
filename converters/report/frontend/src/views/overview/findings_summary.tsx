// What was found, the worst first: a line of counts, then each rule with its verdicts.

import { useMemo } from "preact/hooks";
import { href } from "../../app/router";
import { plural } from "../../data/format";
import { page } from "../../data/page";
import type { FindingCount, Kernel, PlacedFinding } from "../../data/types";
import { figure } from "../../parts/columns";
import { type Column, Table } from "../../parts/table";
import { NotJudged, JudgedChip, NotReached, Pill, severityKind } from "../../parts/text";

/** What is counted of a rule. */
interface RuleRow {
  readonly rule: string;
  readonly severity: string | null;
  /** Distinct violations that are not suppressed. */
  readonly found: number;
  /** The same by severity, the gravest first. */
  readonly bySeverity: readonly (readonly [severity: string, count: number])[];
  /** Accesses, over unique calls, by verdict. */
  readonly verdicts: Readonly<Record<string, number>>;
}

const SEVERITIES = ["error", "warning", "note"];

export function FindingsSummary() {
  const { finding_counts: counts, findings, judged } = page.report;
  const rows = useMemo(() => ruleRows(counts ?? [], findings), [counts, findings]);
  const [listed, clean] = useMemo(() => {
    const open = (row: RuleRow): boolean => row.found > 0 || (row.verdicts["unknown"] ?? 0) > 0;
    const violated = (row: RuleRow): boolean => (row.verdicts["violation"] ?? 0) > 0;
    const shown = rows.filter((row) => open(row) || violated(row));
    return [shown, rows.filter((row) => !shown.includes(row))];
  }, [rows]);
  const isWhole = !page.report.partial?.verdicts && !page.report.kernels.some(isWithoutIr);
  if (!counts) return <NotJudged report={page.report} />;
  return (
    <>
      {judged ? null : <NotJudged report={page.report} />}
      <NotReached report={page.report} />
      <p id="finding-counts">
        {SEVERITIES.map((severity) => {
          const count = findings.filter((each) => isViolation(each, severity)).length;
          return count ? (
            <span key={severity}>
              <Pill kind={severityKind(severity)}>{plural(count, severity)}</Pill>{" "}
            </span>
          ) : null;
        })}
        {judged ? (
          <JudgedChip
            report={page.report}
            words={findings.some((each) => isViolation(each)) ? null : "no error, warning or note"}
          />
        ) : null}{" "}
        <a href={href("findings")}>All findings</a>
      </p>
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

function isWithoutIr(kernel: Kernel): boolean {
  return kernel.without_ir && kernel.calls > 0;
}

function isViolation({ found }: PlacedFinding, severity?: string): boolean {
  if (found.verdict !== "violation" || found.suppressed) return false;
  return severity === undefined || found.severity === severity;
}

/** Rules, those with the gravest violations first. */
function ruleRows(counts: readonly FindingCount[], findings: readonly PlacedFinding[]): RuleRow[] {
  const violations = findings.filter((each) => isViolation(each)).map(({ found }) => found);
  const rules = new Set([
    ...counts.map(({ rule }) => rule ?? "other"),
    ...violations.map(({ rule }) => rule),
  ]);
  const rows = [...rules].map((rule): RuleRow => {
    const own = violations.filter((found) => found.rule === rule);
    const verdicts: Record<string, number> = {};
    for (const { rule: of, verdict, count } of counts)
      if ((of ?? "other") === rule)
        verdicts[verdict ?? ""] = (verdicts[verdict ?? ""] ?? 0) + count;
    const gravest = SEVERITIES.find((each) => own.some(({ severity }) => severity === each));
    const bySeverity = SEVERITIES.map(
      (severity) => [severity, own.filter((found) => found.severity === severity).length] as const,
    ).filter(([, count]) => count);
    return { rule, severity: gravest ?? null, found: own.length, bySeverity, verdicts };
  });
  return rows.sort((a, b) => rank(a) - rank(b) || b.found - a.found || (a.rule < b.rule ? -1 : 1));
}

function rank({ severity }: RuleRow): number {
  return severity === null ? SEVERITIES.length : SEVERITIES.indexOf(severity);
}

function accesses(verdict: string, label: string, title: string): Column<RuleRow> {
  return figure(label, "derived", (row) => row.verdicts[verdict] ?? 0, "count", title);
}

const COLUMNS: readonly Column<RuleRow>[] = [
  {
    label: "Rule",
    cell: (row) => <a href={href("findings", { q: row.rule })}>{row.rule}</a>,
    key: (row) => row.rule,
  },
  {
    ...figure<RuleRow>("findings", "derived", (row) => row.found),
    title: "Distinct errors, warnings and notes; some rules count several accesses as one",
    cell: ({ bySeverity }) =>
      bySeverity.length
        ? bySeverity.map(([severity, count]) => (
            <Pill key={severity} kind={severityKind(severity)}>
              {plural(count, severity)}
            </Pill>
          ))
        : "0",
  },
  accesses("unknown", "unknown", "Accesses without a verdict, over unique calls"),
  accesses("proven", "proven", "Accesses that are proven safe, over unique calls"),
];
