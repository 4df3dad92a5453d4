// A strip of the steps' durations: busy time below, idle time by cause above; a click shows the step.

import { chosen, setQuery } from "../../app/router";
import { formatNanoseconds } from "../../data/format";
import { page } from "../../data/page";
import type { StepTimes } from "../../data/types";
import { figure } from "../../parts/columns";
import { type Column, Table } from "../../parts/table";
import { Folded } from "../../parts/text";

/** More steps than these share bars, of which each shows its slowest step. */
const MOST_BARS = 400;
const HEIGHT = 56;
/** Bars end at so many times the median: one slow step must not flatten all others. */
const MOST_MEDIANS = 3;

interface Step {
  readonly number: number;
  /** Nanoseconds after the page's origin. */
  readonly begin: number;
  readonly ns: number;
  readonly idle: readonly (readonly [cause: string, ns: number])[];
}

export function StepStrip({ steps, label }: { steps: StepTimes; label: string }) {
  const answer = page.report.answer;
  if (!answer) return null;
  const all = stepsOf(steps, answer.begin_ns ?? 0);
  const sorted = all.map(({ ns }) => ns).sort((a, b) => a - b);
  const median = sorted[sorted.length >> 1] ?? 1;
  const most = Math.min(sorted[sorted.length - 1] ?? 1, MOST_MEDIANS * median);
  const from = Number(chosen("from") ?? NaN);
  return (
    <>
      <div class="step-strip" role="group" aria-label={`Durations of steps${label}`}>
        {slowestOf(all).map((step) => (
          <button
            key={step.number}
            type="button"
            class={step.ns > most ? "step-bar clipped" : "step-bar"}
            data-step={step.number}
            aria-pressed={from === step.begin}
            title={titleOf(step, answer.causes)}
            onClick={() => setQuery({ from: step.begin, to: step.begin + step.ns })}
          >
            {[...step.idle, ["busy", busyOf(step)] as const].map(([cause, ns]) => (
              <span
                key={cause}
                class={`cause-${cause}`}
                style={{ blockSize: `${((HEIGHT * ns) / Math.max(most, step.ns)).toFixed(1)}px` }}
              />
            ))}
          </button>
        ))}
      </div>
      <Folded of={`${all.length} steps${label} as a table`}>
        <Table
          id={`steps-${steps.run}`}
          caption={`Steps${label}`}
          columns={columnsOf(steps, answer.causes)}
          rows={all}
          height={10}
        />
      </Folded>
    </>
  );
}

function stepsOf(steps: StepTimes, origin: number): Step[] {
  const causes = Object.entries(steps.idle_ns);
  return steps.duration_ns.map((ns, place) => ({
    number: steps.first + place,
    begin: origin + (steps.begin[place] ?? 0),
    ns,
    idle: causes
      .map(([cause, idle]) => [cause, idle[place] ?? 0] as const)
      .filter(([, idle]) => idle),
  }));
}

/** One step a bar: of as many neighbors as share one, the slowest. */
function slowestOf(all: readonly Step[]): readonly Step[] {
  const shared = Math.ceil(all.length / MOST_BARS);
  if (shared <= 1) return all;
  return Array.from({ length: Math.ceil(all.length / shared) }, (_, bar) =>
    all
      .slice(bar * shared, (bar + 1) * shared)
      .reduce((slowest, step) => (step.ns > slowest.ns ? step : slowest)),
  );
}

function busyOf({ ns, idle }: Step): number {
  return Math.max(
    0,
    idle.reduce((rest, [, each]) => rest - each, ns),
  );
}

function titleOf(step: Step, causes: Readonly<Record<string, string>>): string {
  const parts = step.idle.map(
    ([cause, ns]) => `${causes[cause] ?? cause} ${formatNanoseconds(ns)}`,
  );
  const busy = `GPU busy ${formatNanoseconds(busyOf(step))}`;
  return `Step ${step.number}: ${formatNanoseconds(step.ns)}; ${[busy, ...parts].join(", ")}`;
}

function columnsOf(steps: StepTimes, causes: Readonly<Record<string, string>>): Column<Step>[] {
  return [
    figure("step", null, ({ number }) => number, "number"),
    { ...figure<Step>("took", "measured", ({ ns }) => ns, "ns"), bar: ({ ns }) => ns },
    figure("GPU busy", "measured", busyOf, "ns"),
    ...Object.keys(steps.idle_ns).map((cause) =>
      figure<Step>(
        causes[cause] ?? cause,
        "measured",
        ({ idle }) => idle.find(([of]) => of === cause)?.[1] ?? 0,
        "ns",
      ),
    ),
  ];
}
