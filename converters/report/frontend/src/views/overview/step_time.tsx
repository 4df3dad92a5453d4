// Where the time went: one bar of what devices were busy with and why they were idle, and the gaps.

import { formatNanoseconds, formatShare, plural } from "../../data/format";
import { page } from "../../data/page";
import type { Busy, GapGroup, Gaps, Place } from "../../data/types";
import { figure } from "../../parts/columns";
import { type Column, Table } from "../../parts/table";
import { Folded, Name, Note, Section } from "../../parts/text";
import { StepStrip } from "./step_strip";

/** Smaller shares are not written out. */
const LEAST = 0.001;

interface Part {
  /** "busy", or the cause of gaps. */
  readonly cause: string;
  readonly name: string;
  readonly ns: number;
}

export function StepTime() {
  const { answer, device_time: time } = page.report;
  if (!answer || !time) {
    return page.report.totals.gpu_kernels === null ? null : (
      <Note>No execution was timed, so the use of GPU time is not known.</Note>
    );
  }
  const { busy, steps } = time;
  const parts = partsOf(busy, answer.gaps, answer.causes);
  const number = steps?.number ?? 1;
  const whole = parts.reduce((sum, { ns }) => sum + ns, 0);
  return (
    <Section title={steps ? "Where a step's time goes" : "Where the time goes"} id="step-time">
      <p>
        <strong>{answer.summary.join("; ")}</strong>.{" "}
        <span class="muted">Figures are of this part: {answer.part}.</span>
      </p>
      <div class="time-bar" aria-hidden="true">
        {parts.map(({ cause, name, ns }) => (
          <span
            key={cause}
            class={`time-part cause-${cause}`}
            style={{ flexGrow: ns / whole }}
            title={`${name}: ${formatNanoseconds(ns / number)}, ${formatShare(ns, whole)}`}
          >
            {ns / whole > 0.13 ? formatShare(Math.round((1000 * ns) / whole), 1000) : ""}
          </span>
        ))}
      </div>
      <ul class="time-legend">
        {parts.map(({ cause, name, ns }) => (
          <li key={cause} data-cause={cause} data-value={ns}>
            <span class={`swatch cause-${cause}`} aria-hidden="true" />
            {name} <strong>{formatNanoseconds(ns / number)}</strong>{" "}
            <span class="muted">{ns < LEAST * whole ? "< 0.1 %" : formatShare(ns, whole)}</span>
          </li>
        ))}
      </ul>
      {(answer.gaps?.steps ?? []).map((of, _, { length }) => (
        <StepStrip key={of.run} steps={of} label={length > 1 ? ` of ${runLabel(of.run)}` : ""} />
      ))}
      {answer.notable.map((sentence) => (
        <p key={sentence} class="notable">
          {sentence}
        </p>
      ))}
      {answer.gaps?.groups.length ? <GapTable gaps={answer.gaps} causes={answer.causes} /> : null}
    </Section>
  );
}

function runLabel(id: string): string {
  return page.report.runs.find(({ run_id }) => run_id === id)?.label ?? id;
}

function partsOf(busy: Busy, gaps: Gaps | null, causes: Readonly<Record<string, string>>): Part[] {
  const idle = gaps
    ? Object.entries(gaps.by_cause).map(([cause, ns]) => ({
        cause,
        name: causes[cause] ?? cause,
        ns,
      }))
    : [{ cause: "unknown", name: "idle", ns: busy.idle_ns }];
  return [{ cause: "busy", name: "GPU busy", ns: busy.busy_ns }, ...idle].filter(({ ns }) => ns);
}

function GapTable({ gaps, causes }: { gaps: Gaps; causes: Readonly<Record<string, string>> }) {
  const columns: Column<GapGroup>[] = [
    {
      label: "Cause of idle time",
      cell: (group) => <End name={causesOf(group, causes)} place={group.place} />,
      key: (group) => causes[group.cause],
      prose: true,
    },
    end("After", "before"),
    end("Before", "after"),
    figure("gaps", "measured", (group) => group.number),
    {
      ...figure<GapGroup>("total", "measured", (group) => group.total_ns, "ns"),
      bar: (group) => group.total_ns,
    },
    figure("longest", "measured", (group) => group.longest_ns, "ns"),
  ];
  return (
    <Folded of={`${plural(gaps.groups.length, "place")} where the GPU waited, longest first`}>
      <Table
        id="gaps"
        caption="Gaps between executions"
        columns={columns}
        rows={gaps.groups}
        height={10}
      />
    </Folded>
  );
}

/** The causes of a group of gaps, with their shares if there are several. */
function causesOf(group: GapGroup, causes: Readonly<Record<string, string>>): string {
  const parts = Object.entries(group.parts_ns).filter(([, ns]) => ns >= 0.05 * group.total_ns);
  const texts = parts.map(([cause, ns]) => {
    const name = causes[cause] ?? cause;
    return parts.length > 1 ? `${name} ${formatShare(ns, group.total_ns)}` : name;
  });
  return texts.join(", ");
}

/** What a gap comes after or before: an execution, and the line that asked for it. */
function end(label: string, side: "before" | "after"): Column<GapGroup> {
  return {
    label,
    cell: ({ ends }) => (
      <End
        name={side === "before" ? ends.before : ends.after}
        place={side === "before" ? ends.before_place : ends.after_place}
      />
    ),
    key: ({ ends }) => (side === "before" ? ends.before : ends.after),
    prose: true,
  };
}

function End({ name, place }: { name: string; place: Place | null }) {
  return (
    <>
      <Name of={name} />
      {place ? (
        <span class="muted" title={place.file}>
          {" "}
          at {place.file.slice(place.file.lastIndexOf("/") + 1)}
          {place.line ? `:${place.line}` : ""}
        </span>
      ) : null}
    </>
  );
}
