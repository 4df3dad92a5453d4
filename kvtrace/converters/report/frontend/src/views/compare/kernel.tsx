// One kernel on both sides: its figures, and for each variant what differs down to the line.

import { useMemo } from "preact/hooks";

import { href, setQuery } from "../../app/router";
import { formatCount, formatPlace, plural, shortText } from "../../data/format";
import { stageLanguage } from "../../parts/code";
import { figure } from "../../parts/columns";
import { Choice } from "../../parts/search";
import { type Column, Table } from "../../parts/table";
import { Tabs } from "../../parts/tabs";
import { Note, Section, Swatch } from "../../parts/text";
import { Pairs, type Passed } from "./bars";
import type { CallChange, CodeDifference, KernelDifference, VariantDifference } from "./blocks";
import { CHANGE_COLUMNS, ChangeTable, StatusPill } from "./changes";
import { SideBySide } from "./side_by_side";

interface KernelProps {
  readonly kernel: KernelDifference;
  readonly query: URLSearchParams;
}

export function KernelComparison({ kernel, query }: KernelProps) {
  const { variants } = kernel;
  const at = Math.min(
    Math.max(0, Number(query.get("variant")) || 0),
    Math.max(0, variants.length - 1),
  );
  const variant = variants[at] ?? null;
  return (
    <>
      <p>
        <StatusPill status={kernel.status} />{" "}
        {shortText(formatPlace(kernel.file, kernel.line), 120)}{" "}
        {kernel.kernel === null ? (
          <span class="muted">not in AFTER, which this report is of</span>
        ) : (
          <>
            <Swatch kernel={kernel.kernel} />{" "}
            <a href={href(`kernel/${kernel.kernel}`)}>its own page, after</a>
          </>
        )}
      </p>
      <ChangeTable
        id="kernel-changes"
        caption="What differs of the kernel"
        changes={kernel.changes}
      />
      <Section title="Figures" id="kernel-figures">
        <Pairs
          id="kernel-pairs"
          caption="Figures of the kernel on both sides"
          metrics={kernel.metrics}
        />
      </Section>
      <Section
        title="Code"
        id="code"
        aside={
          variants.length > 1 ? (
            <Choice
              label="Variant"
              value={String(at)}
              options={variants.map(
                (each, place) =>
                  [String(place), `${each.status}: ${shortText(each.label, 80)}`] as const,
              )}
              onChoose={(place) =>
                setQuery({ variant: place === "0" ? null : place, change: null })
              }
            />
          ) : null
        }
      >
        <Texts key={at} kernel={kernel} variant={variant} query={query} />
      </Section>
      {variant ? <Variant variant={variant} /> : null}
    </>
  );
}

/** Source and the first stage that differs, as tabs. */
function Texts(props: KernelProps & { variant: VariantDifference | null }) {
  const { kernel, query } = props;
  const code = props.variant?.code ?? null;
  const tabs = [
    ...(kernel.source ? [{ name: "source", title: `Source ${sizeOf(kernel.source)}` }] : []),
    ...(code ? [{ name: code.stage, title: `${code.stage.toUpperCase()} ${sizeOf(code)}` }] : []),
  ];
  const tab = tabs.find(({ name }) => name === query.get("tab"))?.name ?? tabs[0]?.name;
  if (tab === undefined) {
    return (
      <p class="muted">
        {kernel.status === "changed"
          ? "Its source and its code are the same, or are not on this page."
          : "There is no other side to stand beside it."}
      </p>
    );
  }
  const change = query.get("change");
  return (
    <Tabs
      label="Texts"
      tabs={tabs}
      chosen={tab}
      onChoose={(name) => setQuery({ tab: name === tabs[0]?.name ? null : name, change: null })}
    >
      {tab === "source" && kernel.source ? (
        <SideBySide
          key="source"
          rows={kernel.source.rows}
          language="python"
          name="Source"
          change={change}
        />
      ) : null}
      {tab !== "source" && code ? (
        <>
          <StageNote code={code} />
          <SideBySide
            key={code.stage}
            rows={code.rows}
            substitutions={code.substitutions}
            language={stageLanguage(code.stage)}
            name={code.stage.toUpperCase()}
            change={change}
          />
        </>
      ) : null}
    </Tabs>
  );
}

function sizeOf({ removed, added }: { removed: number; added: number }): string {
  return `−${formatCount(removed)} +${formatCount(added)}`;
}

function StageNote({ code }: { code: CodeDifference }) {
  const pairs = code.substitutions.map(
    ([from, to]) => `${shortText(from, 40)} → ${shortText(to, 40)}`,
  );
  return (
    <p class="small muted">
      The first stage that differs; later ones follow from it. Locations and names of values are
      left aside, so lines are counted from where this text begins.
      {pairs.length ? (
        <span id="substitutions">
          {" "}
          {plural(code.substituted_lines, "line")}{" "}
          {code.substituted_lines === 1 ? "differs" : "differ"} only in {pairs.join(", ")}, and{" "}
          {code.substituted_lines === 1 ? "is" : "are"} lit faintly.
        </span>
      ) : null}
    </p>
  );
}

function Variant({ variant }: { variant: VariantDifference }) {
  const over = useMemo(() => overThreshold(variant), [variant]);
  return (
    <Section
      title={`Variant ${shortText(variant.label, 120)}`}
      id="variant"
      aside={<StatusPill status={variant.status} />}
    >
      <ChangeTable id="variant-changes" caption="How it is specialised" changes={variant.changes} />
      <Pairs
        id="variant-resources"
        caption="Resources of the variant"
        metrics={variant.resources}
      />
      <Pairs
        id="variant-pairs"
        caption="Figures of the variant"
        metrics={variant.metrics}
        over={over}
      />
      <ChangeTable
        id="variant-work"
        caption="Work of calls that correspond"
        changes={variant.work}
      />
      {variant.times.length ? (
        <>
          <Note kind="warning">
            Its median time changed by more than <code>--time-threshold</code> allows.
          </Note>
          <ChangeTable
            id="variant-times"
            caption="Times over the threshold"
            changes={variant.times}
          />
        </>
      ) : null}
      <Calls variant={variant} />
    </Section>
  );
}

const CALL_COLUMNS: readonly Column<CallChange>[] = [
  ...CHANGE_COLUMNS,
  figure("calls", "measured", (row) => row.calls, "count", "Distinct calls in which it does so"),
];

function Calls({ variant }: { variant: VariantDifference }) {
  const more = [
    variant.calls_added ? `${plural(variant.calls_added, "distinct call")} only after` : "",
    variant.calls_removed ? `${plural(variant.calls_removed, "distinct call")} only before` : "",
    variant.calls_unread
      ? `${plural(variant.calls_unread, "more call")} ${variant.calls_unread === 1 ? "differs" : "differ"} and ${variant.calls_unread === 1 ? "was" : "were"} not looked at one by one`
      : "",
  ].filter(Boolean);
  if (!variant.calls.length && !more.length) return null;
  return (
    <>
      {variant.calls.length ? (
        <Table
          id="variant-calls"
          caption="What differs in calls"
          columns={CALL_COLUMNS}
          rows={variant.calls}
          height={12}
        />
      ) : null}
      {more.length ? <p class="muted">{more.join("; ")}.</p> : null}
    </>
  );
}

/** The figure whose change passed `--time-threshold`, and which way; empty for most variants. */
export function overThreshold({ times, metrics }: VariantDifference): ReadonlyMap<string, Passed> {
  return new Map(
    times.flatMap(({ what }): [string, Passed][] => {
      const name = what.includes("device") ? "device_median_ns" : "host_median_ns";
      const { before, after } = metrics.find((metric) => metric.name === name) ?? {};
      return [[name, (after ?? 0) > (before ?? 0) ? "slower" : "faster"]];
    }),
  );
}
