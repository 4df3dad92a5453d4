// What was judged: verdicts over all accesses, and kernel by kernel.

import { useMemo } from "preact/hooks";
import { href } from "../../app/router";
import { formatCount, formatShare } from "../../data/format";
import { page } from "../../data/page";
import type { Report } from "../../data/types";
import { useBlock } from "../../data/use_block";
import { figure } from "../../parts/columns";
import { derived, Figures } from "../../parts/figure";
import { type Column, Table } from "../../parts/table";
import { KernelLink, Missing, Section } from "../../parts/text";

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
  const count = (
    verdict: "proven" | "violation" | "unknown",
    title: string,
  ): Column<VerdictRow> => ({
    label: verdict === "violation" ? "errors to notes" : NAMES[verdict],
    title,
    number: true,
    source: "derived",
    key: (row) => row[verdict],
    cell: (row) => {
      if (!row[verdict] || verdict === "proven") return formatCount(row[verdict]);
      return (
        <a href={href("findings", { kernel: row.kernel, verdict, rule })}>
          {formatCount(row[verdict])}
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
    count(
      "violation",
      "Errors, warnings and notes on accesses, over unique calls, including suppressed ones",
    ),
    count("unknown", "Accesses that could not be decided, over unique calls"),
    count("proven", "Accesses that are safe for every program, lane and iteration"),
    figure(
      "share proven",
      "derived",
      (row) => row.proven / (row.proven + row.violation + row.unknown),
      "share",
    ),
  ];
}

/** The block "findings/verdicts". */
interface VerdictBlock {
  readonly measured: boolean;
  /** Kernel (-1: none that is known), rule, verdict, accesses over unique calls. */
  readonly rows: readonly (readonly [
    kernel: number,
    rule: string,
    verdict: string,
    count: number,
  ])[];
}

type VerdictRow = Record<"kernel" | "proven" | "violation" | "unknown", number>;

/** One row a kernel, those with errors first, then warnings; suppressed ones count as what they are. */
function verdictsByKernel(block: VerdictBlock, rule: string): VerdictRow[] {
  const rows = new Map<number, VerdictRow>();
  for (const [kernel, of, verdict, count] of block.rows) {
    if (rule && of !== rule) continue;
    const row = rows.get(kernel) ?? { kernel, proven: 0, violation: 0, unknown: 0 };
    row[verdict === "proven" || verdict === "violation" ? verdict : "unknown"] += count;
    rows.set(kernel, row);
  }
  const { kernels } = page.report;
  const errors = ({ kernel }: VerdictRow): number => kernels[kernel]?.errors ?? 0;
  const defects = ({ kernel }: VerdictRow): number => kernels[kernel]?.violations ?? 0;
  return [...rows.values()].sort(
    (a, b) =>
      errors(b) - errors(a) ||
      defects(b) - defects(a) ||
      b.unknown - a.unknown ||
      b.violation - a.violation ||
      a.kernel - b.kernel,
  );
}

/** Accesses over unique calls by what they count as: a violation as its severity. */
export function totals({ finding_counts: counts }: Report): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const { verdict, severity, count } of counts ?? []) {
    const name = (verdict === "violation" ? severity : verdict) ?? "unknown";
    sums.set(name, (sums.get(name) ?? 0) + count);
  }
  return sums;
}
