// One table of all that ran: kernels of Triton and of libraries, copies and fills, by time.

import { useMemo } from "preact/hooks";
import { chosen } from "../../app/router";
import { formatNanoseconds, formatPart, formatRate, plural, UNKNOWN } from "../../data/format";
import { page } from "../../data/page";
import type { DeviceTime, WorkRow } from "../../data/types";
import { figure, sharedFigure, words } from "../../parts/columns";
import { AddressSearch, matches } from "../../parts/search";
import { type Column, Table } from "../../parts/table";
import { KernelLink, KindSwatch, Name, Section, ShortPlace } from "../../parts/text";
import { KernelFindings, KernelTable } from "../kernels/table";

/** Rows in sight before the table scrolls. */
const SHOWN = 12;

/** Rows of the table, with Triton's kernels or without. */
export function DeviceWork(props: { rows: readonly WorkRow[]; time: DeviceTime; empty: string }) {
  const { answer } = page.report;
  return (
    <Table
      caption="Top kernels"
      columns={columnsOf(props.time, answer?.ran ?? [])}
      rows={props.rows}
      leaving={["per step", "executions", "findings", "rate", "% of roofline", "Library or line"]}
      sort="GPU time"
      height={SHOWN}
      empty={props.empty}
    />
  );
}

export function AllThatRan() {
  const { kernels, answer, device_time: time } = page.report;
  const words = chosen("ran") ?? "";
  const all = useMemo(
    () =>
      kernels.flatMap(({ name, module, file }, index) =>
        matches(words, name, module, file) ? [index] : [],
      ),
    [kernels, words],
  );
  const ran = useMemo(
    () => (answer?.ran ?? []).filter(({ name, kind, place }) => matches(words, name, kind, place)),
    [answer, words],
  );
  return (
    <Section
      title="Kernels"
      id="top-kernels"
      aside={
        <div class="head-tools">
          {words && time ? <Filtered rows={ran} time={time} /> : null}
          <AddressSearch
            id="ran-filter"
            label="Filter"
            name="ran"
            placeholder="name, library or file"
          />
        </div>
      }
    >
      {answer && time ? (
        <>
          <DeviceWork
            rows={ran}
            time={time}
            empty={words ? "No kernel matches." : "Only autotuners ran."}
          />
          {answer.work_notes.length ? (
            <p class="muted small">{answer.work_notes.join("; ")}.</p>
          ) : null}
        </>
      ) : (
        <KernelTable kernels={all} caption="Top kernels" height={SHOWN} brief />
      )}
    </Section>
  );
}

/** What the rows that match sum up to. */
function Filtered({ rows, time }: { rows: readonly WorkRow[]; time: DeviceTime }) {
  const taken = rows.reduce((sum, { device_ns: ns }) => sum + (ns ?? 0), 0);
  return (
    <span class="muted" aria-live="polite" data-taken={taken}>
      {plural(rows.length, "row")}, {formatNanoseconds(taken)}, {formatPart(taken / time.device_ns)}{" "}
      of GPU time
    </span>
  );
}

function columnsOf(time: DeviceTime, rows: readonly WorkRow[]): (Column<WorkRow> | false)[] {
  const { kernels, finding_counts: counts } = page.report;
  const steps = time.steps?.number;
  const any = (read: (row: WorkRow) => unknown): boolean => rows.some((row) => read(row) !== null);
  return [
    {
      label: "Kernel",
      cell: (row) =>
        row.kernel === null ? (
          <span class="kernel-name">
            <KindSwatch kind={row.kind} />
            <Name of={row.name} />
          </span>
        ) : (
          <KernelLink kernel={row.kernel} name={row.name} />
        ),
      key: (row) => row.name,
    },
    sharedFigure("share", "measured", (row) => row.device_ns, time.device_ns),
    figure("GPU time", "measured", (row) => row.device_ns, "ns", "Sum over executions"),
    steps !== undefined &&
      figure("per step", "measured", (row) => (row.device_ns ?? NaN) / steps || null, "ns"),
    figure("executions", "measured", (row) => row.executions),
    any((row) => row.rate) && {
      ...figure<WorkRow>("rate", "derived", (row) => row.rate?.per_second),
      cell: ({ rate }) =>
        rate ? (rate.at_least ? ">" : "") + formatRate(rate.per_second, rate.unit) : UNKNOWN,
    },
    any((row) => row.achieved) &&
      figure<WorkRow>(
        "% of roofline",
        "derived",
        (row) => row.achieved,
        formatPart,
        "Roofline time divided by the measured time",
      ),
    counts !== null && {
      label: "findings",
      cell: ({ kernel }) => {
        const own = kernel === null ? undefined : kernels[kernel];
        return own ? <KernelFindings kernel={own} /> : "";
      },
      key: ({ kernel }) => kernels[kernel ?? -1]?.violations,
      source: "derived",
      number: true,
    },
    {
      ...words(
        "Library or line",
        (row: WorkRow) => row.place || (row.kind === "Triton" ? "" : row.kind),
      ),
      cell: (row) => <Where of={row} />,
    },
  ];
}

function Where({ of: { place, kind } }: { of: WorkRow }) {
  if (!place) return kind === "Triton" ? "–" : kind;
  return <ShortPlace of={place} />;
}
