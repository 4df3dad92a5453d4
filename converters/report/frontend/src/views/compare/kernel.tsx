// One kernel on both sides: its figures, and for each variant what differs down to the line.

import { useMemo } from "preact/hooks";

import { href, setQuery } from "../../app/router";
import { formatPlace, plural, shortText } from "../../data/format";
import type { Page } from "../../data/page";
import { figure } from "../../parts/columns";
import { Choice } from "../../parts/search";
import { type Column, Table } from "../../parts/table";
import { Note, Section, Swatch } from "../../parts/text";
import { Pairs, type Passed } from "./bars";
import type { CallChange, KernelDifference, VariantDifference } from "./blocks";
import { CHANGE_COLUMNS, ChangeTable, StatusPill } from "./changes";
import { Texts } from "./texts";

interface KernelProps {
  readonly page: Page;
  readonly kernel: KernelDifference;
  readonly query: URLSearchParams;
}

export function KernelComparison({ page, kernel, query }: KernelProps) {
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
        {kernel.renamed_from === null
          ? ""
          : `renamed from ${shortText(kernel.renamed_from, 80)} (${percentText(kernel.similarity)} alike) `}
        {shortText(formatPlace(kernel.file, kernel.line), 120)}{" "}
        {kernel.kernel === null ? (
          <span class="muted">not in AFTER, which this report shows</span>
        ) : (
          <>
            <Swatch kernel={kernel.kernel} />{" "}
            <a href={href(`kernel/${kernel.kernel}`)}>its own page, after</a>
          </>
        )}
      </p>
      <ChangeTable id="kernel-changes" caption="Changes of the kernel" changes={kernel.changes} />
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
        <Texts key={at} page={page} kernel={kernel} variant={variant} query={query} />
      </Section>
      {variant ? <Variant variant={variant} /> : null}
    </>
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
      <Stages variant={variant} />
      <ChangeTable
        id="variant-changes"
        caption="Changes of specialization"
        changes={variant.changes}
      />
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
      <ChangeTable id="variant-work" caption="Work of corresponding calls" changes={variant.work} />
      {variant.times.length ? (
        <>
          <Note kind="warning">
            Its median time changed by more than <code>--time-threshold</code>.
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

/** What differs in each stage, as text; nothing where no stage has a text. */
function Stages({ variant: { stages } }: { variant: VariantDifference }) {
  const shown = stages.filter(({ words }) => words);
  if (!shown.length) return null;
  return (
    <dl id="variant-stages">
      {shown.map(({ stage, words }) => (
        <div key={stage}>
          <dt>{stage.toUpperCase()}</dt>
          <dd>{shortText(words, 2000)}</dd>
        </div>
      ))}
    </dl>
  );
}

function percentText(share: number | null): string {
  return share === null ? "–" : `${Math.round(100 * share)} %`;
}

const CALL_COLUMNS: readonly Column<CallChange>[] = [
  ...CHANGE_COLUMNS,
  figure("calls", "measured", (row) => row.calls, "count", "Unique calls with this change"),
];

function Calls({ variant }: { variant: VariantDifference }) {
  const more = [
    variant.calls_added ? `${plural(variant.calls_added, "unique call")} only after` : "",
    variant.calls_removed ? `${plural(variant.calls_removed, "unique call")} only before` : "",
    variant.calls_unread
      ? `${plural(variant.calls_unread, "more call")} ${variant.calls_unread === 1 ? "differs" : "differ"} and ${variant.calls_unread === 1 ? "was" : "were"} not read one by one`
      : "",
  ].filter(Boolean);
  if (!variant.calls.length && !more.length) return null;
  return (
    <>
      {variant.calls.length ? (
        <Table
          id="variant-calls"
          caption="Changes of calls"
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
