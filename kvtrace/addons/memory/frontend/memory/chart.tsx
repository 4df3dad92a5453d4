// Bytes in use on a device over time, and who holds the most of them.

import { useMemo, useState } from "preact/hooks";
import { setQuery } from "@report/app/router";
import { formatBytes, formatMoment, formatNanoseconds } from "@report/data/format";
import { WithTable } from "@report/parts/beside";
import { figure, sharedFigure, words } from "@report/parts/columns";
import { Plot } from "@report/parts/plot";
import { Table } from "@report/parts/table";
import type { DeviceMemory, Holder, StorageLife } from "../model";

/** Bytes in use from a time on. */
interface Step {
  readonly time: number;
  readonly amount: number;
}

/** `life`: the chosen storage, whose time is marked. */
export function InUse({ memory, life }: { memory: DeviceMemory; life: StorageLife | null }) {
  const { times, bytes, peak, peak_at: peakAt, when, bin_ns: bin } = memory;
  const [pointed, setPointed] = useState<number | null>(null);
  const [begin, end] = [times[0] ?? 0, (times[times.length - 1] ?? 0) + (bin ?? 0)];
  const at = (time: number): number => bytes[times.findLastIndex((each) => each <= time)] ?? 0;
  const steps = useMemo(
    () => times.map((time, place): Step => ({ time, amount: bytes[place] ?? 0 })),
    [times, bytes],
  );
  return (
    <>
      <WithTable
        name="bytes in use"
        canvas={
          <Plot
            label={`Bytes in use over time; the most is ${formatBytes(peak)}`}
            x={{
              label: "time on the timeline",
              low: begin,
              high: end,
              format: formatNanoseconds,
            }}
            y={{
              label: "in use (derived)",
              low: 0,
              high: peak || 1,
              format: formatBytes,
              binary: true,
            }}
            height={220}
            onPoint={setPointed}
          >
            {(x, y) => (
              <>
                {life ? (
                  <rect
                    class="life-time"
                    x={x(life.begin)}
                    width={Math.max(x(life.end ?? life.last_use) - x(life.begin), 2)}
                    y={y(peak || 1)}
                    height={y(0) - y(peak || 1)}
                  />
                ) : null}
                <path
                  d={`M${x(begin)} ${y(0)}${steps.map(({ time, amount }) => `H${x(time)}V${y(amount)}`).join("")}H${x(end)}`}
                />
                <circle cx={x(peakAt)} cy={y(peak)} r={5} />
              </>
            )}
          </Plot>
        }
        table={() => (
          <Table<Step>
            caption="Bytes in use from each time on"
            rows={steps}
            columns={[
              figure("From", "measured", ({ time }) => time, formatMoment),
              figure("In use", "derived", ({ amount }) => amount, "bytes"),
            ]}
            height={10}
          />
        )}
      />
      <p class="small wrap" id="in-use-at" aria-live="polite">
        {pointed === null
          ? `${formatBytes(peak)} in use at ${formatMoment(peakAt)}, the most; ${when}`
          : `${formatBytes(at(pointed))} in use at ${formatMoment(Math.round(pointed))}`}
        {bin === null ? "" : `. The curve has the most of each ${formatNanoseconds(bin)}.`}
      </p>
    </>
  );
}

/** Places of allocation by what they hold at the peak; a click lists their storages. */
export function Holders({ memory, storages }: HoldersProps) {
  const { holders, peak } = memory;
  return (
    <Table<Holder>
      id="holders"
      caption="Who holds the most bytes in use"
      rows={holders}
      columns={[
        words("Allocated at", ({ place }) => place, { prose: true, limit: 160 }),
        figure("Storages", "derived", ({ storages: count }) => count),
        figure("Holds", "derived", ({ bytes }) => bytes, "bytes"),
        sharedFigure("Share", "derived", ({ bytes }) => bytes, peak),
      ]}
      onChoose={({ place }) =>
        setQuery({ q: storages.some(({ made }) => made === place) ? place : null, storage: null })
      }
    />
  );
}

interface HoldersProps {
  readonly memory: DeviceMemory;
  readonly storages: readonly StorageLife[];
}
