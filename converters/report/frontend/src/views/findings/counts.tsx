// What was judged: verdicts over all accesses, and kernel by kernel.

import { useMemo } from "preact/hooks";
import { href } from "../../app/router";
import { formatCount, formatShare } from "../../data/format";
import { page } from "../../data/page";
import type { FindingCount, Report } from "../../data/types";
import { useBlock } from "../../data/use_block";
import { figure } from "../../parts/columns";
import { derived, Figures } from "../../parts/figure";
import { type Column, Table } from "../../parts/table";
import { KernelLink, Missing, Section } from "../../parts/text";
import { filtered } from "./filter";

const VERDICTS = [
  ["proven", "Safe for every program, lane and iteration of the call"],
  ["error", "Violated, with a witness that was evaluated"],
  ["warning", "Violated without leaving memory, with a witness that was evaluated"],
  ["note", "Expected in generated code, or of no consequence"],
  ["unknown", "Not decided, each with a reason"],
  ["suppressed", "Violated or unknown, but a comment in the source marks it as intended"],
] as const;
/** What the figures are called. */
const NAMES = {
  proven: "proven safe",
  error: "errors",
  warning: "warnings",
  note: "notes",
  unknown: "unknown",
  suppressed: "suppressed",
} as const;

/** What is counted even if there is none of it. */
const ALWAYS: ReadonlySet<string> = new Set(["error", "unknown", "proven"]);

export function VerdictFigures() {
  const sums = totals(page.report);
  const all = [...sums.values()].reduce((sum, count) => sum + count, 0);
  return (
    <Figures
      id="verdict-figures"
      of={VERDICTS.filter(([verdict]) => ALWAYS.has(verdict) || sums.has(verdict)).map(
        ([verdict, how]) => {
          const count = sums.get(verdict) ?? 0;
          const detail = `${formatShare(count, all)} of ${formatCount(all)} judged`;
          return derived(
            NAMES[verdict],
            count,
            "count",
            `${how}. Of unique calls, by rule`,
            detail,
          );
        },
      )}
    />
  );
}

export function KernelVerdicts({ rule }: { rule: string }) {
  const loaded = useBlock<VerdictBlock>(page, "findings/verdicts");
  const rows = useMemo(
    () => (loaded.state === "ready" ? verdictsByKernel(loaded.value, rule) : []),
    [loaded.state, rule],
  );
  const columns = useMemo(() => columnsOf(rule), [rule]);
  return (
    <Section title={rule ? `Verdicts of ${rule} by kernel` : "Verdicts by kernel"} id="verdicts">
      {loaded.state === "ready" ? (
        <Table
          id="kernel-verdicts"
          caption="Verdicts by kernel"
          columns={columns}
          rows={rows}
          height={12}
          leaving={["share proven"]}
          empty="This rule judged nothing."
        />
      ) : null}
      {loaded.state === "missing" || loaded.state === "failed" ? (
        <Missing
          what="This page does not have them. To see them:"
          command={`kvtrace sanitize ${page.report.trace} --all`}
        />
      ) : null}
    </Section>
  );
}

function columnsOf(rule: string): Column<VerdictRow>[] {
  const count = (name: Counted, title: string): Column<VerdictRow> => ({
    label: NAMES[name],
    title,
    number: true,
    source: "derived",
    key: (row) => row[name],
    cell: (row) => {
      const filter = { words: "", rule, verdict: name, kernel: String(row.kernel) };
      if (!row[name] || !filtered(filter).length) return formatCount(row[name]);
      return (
        <a href={href("findings", { kernel: row.kernel, verdict: name, rule })}>
          {formatCount(row[name])}
        </a>
      );
    },
  });
  return [
    {
      label: "Kernel",
      cell: (row) => <KernelLink kernel={row.kernel} />,
      key: (row) => page.report.kernels[row.kernel]?.name ?? "",
    },
    ...(["error", "warning", "note"] as const).map((name) =>
      count(name, "Accesses over unique calls, including those that a comment suppresses"),
    ),
    count("unknown", "Accesses that could not be decided, over unique calls"),
    count("proven", "Accesses that are safe for every program, lane and iteration"),
    figure(
      "share proven",
      "derived",
      (row) => row.proven / (row.proven + row.error + row.warning + row.note + row.unknown),
      "share",
    ),
  ];
}

/** The block "findings/verdicts". */
interface VerdictBlock {
  readonly measured: boolean;
  /** Kernel (-1: none that is known), rule, what accesses count as, accesses over unique calls. */
  readonly rows: readonly (readonly [kernel: number, rule: string, name: Counted, count: number])[];
}

type Counted = "error" | "warning" | "note" | "unknown" | "proven";
type VerdictRow = Record<Counted | "kernel", number>;

/** One row a kernel, those with errors first, then warnings, unknown ones, and notes. */
function verdictsByKernel(block: VerdictBlock, rule: string): VerdictRow[] {
  const rows = new Map<number, VerdictRow>();
  for (const [kernel, of, name, count] of block.rows) {
    if (rule && of !== rule) continue;
    const row = rows.get(kernel) ?? {
      kernel,
      error: 0,
      warning: 0,
      note: 0,
      unknown: 0,
      proven: 0,
    };
    row[name] += count;
    rows.set(kernel, row);
  }
  return [...rows.values()].sort(
    (a, b) =>
      b.error - a.error ||
      b.warning - a.warning ||
      b.unknown - a.unknown ||
      b.note - a.note ||
      a.kernel - b.kernel,
  );
}

/** Accesses over unique calls by what they count as: a violation as its severity. */
export function totals({ finding_counts: counts }: Report): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const each of counts ?? []) {
    const name = countsAs(each);
    sums.set(name, (sums.get(name) ?? 0) + each.count);
  }
  return sums;
}

/** A violation as its severity. */
export function countsAs({ verdict, severity }: FindingCount): string {
  if (verdict !== "violation") return verdict ?? "unknown";
  return severity === "error" || severity === "warning" ? severity : "note";
}
