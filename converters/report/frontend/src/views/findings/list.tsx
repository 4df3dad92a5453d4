// The list of findings with its filters.

import { useMemo } from "preact/hooks";
import { go, href } from "../../app/router";
import { formatCount, plural, shortText } from "../../data/format";
import { page } from "../../data/page";
import type { Cause } from "../../data/types";
import { fieldsOf, figure, words } from "../../parts/columns";
import { findingColumns } from "../../parts/finding_columns";
import { AddressChoice, AddressSearch } from "../../parts/search";
import { type Column, Table } from "../../parts/table";
import { Command, kernelName, Note, Pill } from "../../parts/text";
import { totals } from "./counts";
import {
  type Filter,
  causesOf,
  type Listed,
  listedFindings,
  kernelsOf,
  pillKind,
  rankOf,
  sentence,
  STATUSES,
} from "./filter";

export function Filters(props: { filter: Filter; shown: number }) {
  const { filter } = props;
  const all = listedFindings();
  const rules = useMemo(() => counted(all.map(({ placed }) => placed.found.rule)), [all]);
  const kernels = useMemo(
    () => counted(all.flatMap(({ placed }) => kernelsOf(placed).map(String))),
    [all],
  );
  const statuses = useMemo(() => counted(all.map(({ status }) => status)), [all]);
  const proven = totals(page.report).get("proven") ?? 0;
  const ofRule = [...new Set([...rules.keys(), filter.rule])].filter(Boolean).sort();
  const ruleText = (rule: string) =>
    `${shortText(rule, 60)} (${formatCount(rules.get(rule) ?? 0)})`;
  const standingText = (each: (typeof STATUSES)[number]): string =>
    each === "proven"
      ? `proven (${plural(proven, "access", "accesses")})`
      : `${each} (${formatCount(statuses.get(each) ?? 0)})`;
  const kernelText = (kernel: string): string =>
    `${kernelName(Number(kernel))} (${formatCount(kernels.get(kernel) ?? 0)})`;
  return (
    <div class="toolbar" id="finding-filters">
      <AddressSearch
        id="finding-filter"
        label="Filter"
        name="q"
        placeholder="word, file or tensor"
      />
      <AddressChoice
        label="Rule"
        name="rule"
        options={[["", "all rules"], ...ofRule.map((rule) => [rule, ruleText(rule)] as const)]}
      />
      <AddressChoice
        label="Verdict"
        name="verdict"
        options={[
          ["", "all verdicts"],
          ...STATUSES.map((each) => [each, standingText(each)] as const),
        ]}
      />
      <AddressChoice
        label="Kernel"
        name="kernel"
        options={[
          ["", "all kernels"],
          ...[...kernels.keys()].map((kernel) => [kernel, kernelText(kernel)] as const),
        ]}
      />
      <span class="muted" aria-live="polite">
        {formatCount(props.shown)} of {plural(all.length, "finding")}
      </span>
    </div>
  );
}

function counted(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

interface FindingListProps {
  readonly filter: Filter;
  readonly chosen: Listed | null;
}

/** All columns, or beside a chosen finding only those that distinguish them. */
export function FindingList({ filter, chosen }: FindingListProps) {
  const groups = useMemo(
    () => causesOf(filter),
    [filter.words, filter.rule, filter.verdict, filter.kernel],
  );
  const rows = useMemo(() => groups.flatMap(([first]) => first ?? []), [groups]);
  const narrow = chosen !== null;
  const columns = useMemo(
    () => columnsOf(filter, narrow, new Map(groups.map((group) => [group[0], group.length]))),
    [groups, narrow],
  );
  if (filter.verdict === "proven" && !rows.length) {
    return (
      <Note>
        Accesses that are proven safe are counted below and not listed one by one. To list them:{" "}
        <Command>{`kvtrace sanitize ${page.report.trace} --all`}</Command>
      </Note>
    );
  }
  return (
    <Table
      id="finding-list"
      caption="Findings"
      columns={columns}
      rows={rows}
      height={narrow ? 24 : 20}
      chosen={groups.find((group) => chosen && group.includes(chosen))?.[0] ?? null}
      onChoose={(each) => go(`findings/${encodeURIComponent(each.key)}`, queryOf(filter))}
      empty="No finding matches."
    />
  );
}

export function queryOf(filter: Filter): Record<string, string> {
  return { q: filter.words, rule: filter.rule, verdict: filter.verdict, kernel: filter.kernel };
}

export function findingHref(key: string, filter: Filter): string {
  return href(`findings/${encodeURIComponent(key)}`, queryOf(filter));
}

function columnsOf(
  filter: Filter,
  narrow: boolean,
  places: ReadonlyMap<Listed | undefined, number>,
): (Column<Listed> | false)[] {
  const found = ({ placed }: Listed) => placed.found;
  const { place } = findingColumns(found);
  const field = fieldsOf<Listed, Cause>(
    ({ placed }) => page.report.causes[placed.cause ?? -1] ?? placed.found,
  );
  return [
    {
      label: "Severity",
      cell: (each) => <Pill kind={pillKind(each)}>{each.status}</Pill>,
      key: rankOf,
      text: ({ status }) => status,
    },
    {
      ...words("Rule", (each) => found(each).rule),
      cell: (each) => <a href={findingHref(each.key, filter)}>{shortText(found(each).rule, 60)}</a>,
    },
    place,
    !narrow && words("Kernel", (each) => found(each).kernel, { limit: 60 }),
    !narrow && words("What", sentence, { prose: true, limit: 300 }),
    !narrow &&
      figure(
        "places",
        "derived",
        (each) => places.get(each) ?? 1,
        "count",
        "Findings listed as one, since one change would fix all of them",
      ),
    !narrow && field("calls", "derived", "calls", "count", "Unique calls with the finding"),
    !narrow && field("launches", "measured", "launches", "count", "Launches of these calls"),
  ];
}
