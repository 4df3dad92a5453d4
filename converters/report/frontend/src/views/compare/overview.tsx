// Both sides as a whole: what ran, which kernels differ, their times, and findings.

import { useMemo } from "preact/hooks";

import { go, href, setQuery } from "../../app/router";
import { formatCount, plural, shortText } from "../../data/format";
import type { Page } from "../../data/page";
import { figure, words } from "../../parts/columns";
import { Choice, matches, Search } from "../../parts/search";
import { type Column, Table } from "../../parts/table";
import { Note, Pill, Section, Swatch } from "../../parts/text";
import { metricColumns, Pairs, type Passed, PassedPill } from "./bars";
import type { Comparison, DeviceWork, KernelDifference, Metric, Side } from "./blocks";
import { ChangeTable, FindingChanges, StatusPill } from "./changes";
import { Answers, Bounds, Headline } from "./headline";
import { overThreshold } from "./kernel";

interface OverviewProps {
  readonly page: Page;
  readonly comparison: Comparison;
  readonly query: URLSearchParams;
}

export function ComparisonOverview({ page, comparison, query }: OverviewProps) {
  const { kernels, findings, times } = comparison;
  const mayMerge = comparison.answers.some(
    ({ question, word }) => question === "merge" && word === "yes",
  );
  return (
    <>
      <Answers answers={comparison.answers} />
      {comparison.empty ? (
        <p id="no-difference">
          <Pill kind={mayMerge ? "fine" : "plain"}>no difference</Pill> Both sides are the same
          except for times, ids and addresses.
        </p>
      ) : null}
      <Section title="Headline" id="headline">
        <p id="compare-summary">{shortText(comparison.summary, 300)}</p>
        <Headline comparison={comparison} />
      </Section>
      {comparison.notes.map((note) => (
        <Note key={note} kind="warning">
          {shortText(note, 600)}
        </Note>
      ))}
      <Section title="Sides" id="sides">
        <ChangeTable
          id="compare-context"
          caption="Where it ran"
          changes={[...sideRows(comparison.before, comparison.after), ...comparison.context]}
        />
      </Section>
      <Section title="Figures" id="figures">
        <Pairs id="compare-totals" caption="Figures of both sides" metrics={comparison.metrics} />
      </Section>
      <Section title="Kernels that differ" id="kernels">
        <Kernels page={page} comparison={comparison} query={query} />
        <p class="muted">
          {plural(kernels.length, "kernel")} {kernels.length === 1 ? "differs" : "differ"},{" "}
          {formatCount(comparison.same_kernels)} {comparison.same_kernels === 1 ? "is" : "are"} the
          same.
        </p>
      </Section>
      <Section title="Findings" id="finding-changes">
        <FindingChanges page={page} findings={findings} unjudged={comparison.unjudged} />
      </Section>
      <Section title="Conditions for all sizes" id="bounds">
        <Bounds comparison={comparison} />
      </Section>
      <Times times={times} />
      <DeviceTime rows={comparison.device} />
    </>
  );
}

function sideRows(before: Side, after: Side) {
  const row = (what: string, of: (side: Side) => string | null) => ({
    what,
    before: of(before),
    after: of(after),
  });
  return [
    row("side", (side) => side.label),
    row("runs", (side) => side.runs.join(", ")),
    row("commit", (side) => side.commit),
    row("kernels", (side) => String(side.kernels)),
  ];
}

/** A kernel that differs, with its place in the block. */
interface KernelRow {
  readonly place: number;
  readonly kernel: KernelDifference;
  readonly time: Metric | null;
  readonly over: Passed | undefined;
}

function Kernels({ page, comparison, query }: OverviewProps) {
  const [words, status] = [query.get("q") ?? "", query.get("status") ?? ""];
  const rows = useMemo(
    () =>
      comparison.kernels.flatMap((kernel, place): KernelRow[] => {
        const fits =
          (!status || kernel.status === status) &&
          matches(words, kernel.name, kernel.file, kernel.status);
        if (!fits) return [];
        const passed = kernel.variants.flatMap((variant) => [...overThreshold(variant).values()]);
        const over = passed.find((way) => way === "slower") ?? passed[0];
        return [{ place, kernel, time: timeOf(kernel.metrics), over }];
      }),
    [comparison, words, status],
  );
  const columns = useMemo(() => kernelColumns(page), [page]);
  return (
    <>
      <div class="toolbar">
        <Search
          id="compare-filter"
          label="Filter"
          placeholder="name or file"
          value={words}
          onInput={(text) => setQuery({ q: text })}
        />
        <Choice
          label="Status"
          value={status}
          options={[
            ["", "all"],
            ...(["changed", "added", "removed"] as const).map(
              (each) =>
                [
                  each,
                  `${each} (${formatCount(comparison.kernels.filter((kernel) => kernel.status === each).length)})`,
                ] as const,
            ),
          ]}
          onChoose={(chosen) => setQuery({ status: chosen })}
        />
      </div>
      <Table
        id="compare-kernels"
        caption="Kernels that differ"
        columns={columns}
        rows={rows}
        height={16}
        leaving={["findings", "Before", "After"]}
        onChoose={(row) => go(`compare/${row.place}`)}
        empty={comparison.kernels.length ? "No kernel matches." : "All kernels are the same."}
      />
    </>
  );
}

function kernelColumns(page: Page): Column<KernelRow>[] {
  return [
    {
      label: "Kernel",
      cell: ({ place, kernel }) => (
        <span class="kernel-name">
          <Swatch kernel={kernel.kernel ?? -1} />
          <a href={href(`compare/${place}`)}>{shortText(kernel.name, 120)}</a>
        </span>
      ),
      key: ({ kernel }) => kernel.name,
    },
    {
      label: "Status",
      cell: ({ kernel, over }) => (
        <>
          <StatusPill status={kernel.status} /> <PassedPill passed={over} />
        </>
      ),
      key: ({ kernel }) => kernel.status,
    },
    words("What", ({ kernel }) => summary(kernel), { prose: true }),
    figure(
      "findings",
      "derived",
      ({ kernel }) => page.report.kernels[kernel.kernel ?? -1]?.violations,
      "count",
      "Findings of the kernel in this report (AFTER)",
    ),
    ...metricColumns<KernelRow>(({ time }) => time, "measured"),
  ];
}

/** Time on the device where both sides know it, else the host's. */
function timeOf(metrics: readonly Metric[]): Metric | null {
  const device = metrics.find(({ name }) => name === "device_ns");
  if (device && device.before !== null && device.after !== null) return device;
  return metrics.find(({ name }) => name === "host_ns") ?? device ?? null;
}

/** What differs of a kernel, in few words. */
function summary({ changes, source, variants }: KernelDifference): string {
  const stages = [...new Set(variants.flatMap(({ code }) => code?.stage.toUpperCase() ?? []))];
  const said = [
    source ? "source" : "",
    ...stages,
    variants.some(({ resources }) => resources.length) ? "resources" : "",
    variants.some(
      (each) => each.calls.length || each.calls_added || each.calls_removed || each.calls_unread,
    )
      ? "calls"
      : "",
    variants.some(({ work }) => work.length) ? "work" : "",
    ...changes.map(({ what }) => shortText(what, 40)),
  ];
  return said.filter(Boolean).join(", ");
}

interface TimeRow {
  readonly name: string;
  readonly time: Metric | null;
}

const TIME_COLUMNS: readonly Column<TimeRow>[] = [
  words("Kernel", ({ name }) => name, { limit: 120 }),
  words("Time", ({ time }) => (time?.name === "device_ns" ? "GPU" : "host")),
  ...metricColumns<TimeRow>(({ time }) => time, "measured"),
];

const DEVICE_COLUMNS: readonly Column<DeviceWork>[] = [
  words("On the device", ({ name }) => name, { limit: 120 }),
  words("Of", ({ kind }) => kind),
  ...metricColumns<DeviceWork>(({ metric }) => metric, "measured"),
];

/** Launched kernels, kernels of libraries, copies and fills, and their sum. */
function DeviceTime({ rows }: { rows: readonly DeviceWork[] }) {
  if (!rows.length) return null;
  return (
    <Section title="All device time" id="device-time">
      <Table
        id="compare-device"
        caption="All device time by name"
        columns={DEVICE_COLUMNS}
        rows={rows}
        height={14}
      />
    </Section>
  );
}

/** Of every kernel that ran on both sides: shown, but no difference by itself. */
function Times({ times }: { times: Comparison["times"] }) {
  const rows = useMemo(
    () =>
      times
        .map(({ name, metrics }) => ({ name, time: timeOf(metrics) }))
        .filter(({ time }) => (time?.before ?? time?.after ?? null) !== null),
    [times],
  );
  if (!rows.length) return null;
  return (
    <Section title="Times" id="times">
      <Table
        id="compare-times"
        caption="Times of kernels that ran on both sides"
        columns={TIME_COLUMNS}
        rows={rows}
        sort="After"
        height={14}
      />
    </Section>
  );
}
