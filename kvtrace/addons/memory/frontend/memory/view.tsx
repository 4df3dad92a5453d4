// Memory: how much was in use when, who held the most, and the life of each storage.

import { useMemo } from "preact/hooks";
import { chosen, chosenNumber, href, setQuery } from "@report/app/router";
import type { View } from "@report/app/view";
import { formatCount, plural, shortText } from "@report/data/format";
import { page } from "@report/data/page";
import { useBlock } from "@report/data/use_block";
import { figure, words } from "@report/parts/columns";
import { derived, Figures, measured } from "@report/parts/figure";
import { AddressChoice, AddressSearch, matches } from "@report/parts/search";
import { type Column, Table } from "@report/parts/table";
import { DroppedNotes, Note, Pill, Section, severityKind } from "@report/parts/text";
import type { RunStorages, StorageLife } from "../model";
import { Holders, InUse } from "./chart";
import { foundAs, Life, StorageFacts } from "./life";
import { blockOf, boundText, leftOutText, namesOf } from "./moments";
import "./memory.css";

/** Runs whose memory is on the page. */
function recordedRuns(): number[] {
  return page.report.runs.map((_, run) => run).filter((run) => page.has(blockOf(run)));
}

function Memory() {
  const runs = recordedRuns();
  const run = runs.find((each) => each === chosenNumber("run")) ?? runs[0] ?? 0;
  const loaded = useBlock<RunStorages>(page, blockOf(run));
  return (
    <>
      <h1>Memory</h1>
      <DroppedNotes />
      {runs.length > 1 ? (
        <div class="toolbar">
          <AddressChoice
            label="Run"
            name="run"
            options={runs.map(
              (each) => [String(each), page.report.runs[each]?.label ?? ""] as const,
            )}
            also={{ storage: null, device: null }}
          />
        </div>
      ) : null}
      {loaded.state === "failed" ? <Note kind="warning">{loaded.reason}</Note> : null}
      {loaded.state === "ready" ? <OfRun key={run} memory={loaded.value} /> : null}
    </>
  );
}

function OfRun({ memory }: { memory: RunStorages }) {
  const { devices, storages } = memory;
  const life = storages[chosenNumber("storage") ?? -1] ?? null;
  const device =
    devices.find((each) => each.device === (life?.device ?? chosenNumber("device"))) ?? devices[0];
  if (!device) return <Note>No tensor of a device has an address in this run.</Note>;
  return (
    <>
      <p>
        Sizes and times were recorded; what a call does to a storage is derived from its IR, or from
        an operator&apos;s schema. {boundText(memory)}
      </p>
      {devices.length > 1 ? (
        <div class="toolbar">
          <AddressChoice
            label="Device"
            name="device"
            options={devices.map((each) => [String(each.device), `device ${each.device}`] as const)}
            also={{ storage: null }}
          />
        </div>
      ) : null}
      <Figures
        id="figures"
        of={[
          derived("most in use", device.peak, "bytes", "Sizes of the storages in use, summed"),
          measured(
            "storages",
            memory.count,
            "count",
            "All allocations on devices",
            `of ${plural(memory.kinds, "kind")}: a size and a place`,
          ),
        ]}
      />
      <Section title="In use over time" id="in-use">
        <InUse memory={device} life={life} />
      </Section>
      <Section title="Who holds the most" id="peak">
        <p class="muted">
          In use at the peak, by place of allocation. Choose one to list its storages.
        </p>
        <Holders memory={device} storages={storages} />
      </Section>
      <Storages memory={memory} device={device.device} life={life} />
    </>
  );
}

interface StoragesProps {
  readonly memory: RunStorages;
  readonly device: number;
  readonly life: StorageLife | null;
}

function Storages({ memory, device, life }: StoragesProps) {
  const asked = chosen("q") ?? "";
  const ofDevice = useMemo(
    () => memory.storages.filter((each) => each.device === device),
    [memory, device],
  );
  const rows = useMemo(
    () => ofDevice.filter(({ made, uses }) => matches(asked, made, ...uses.map(({ by }) => by))),
    [ofDevice, asked],
  );
  const more = leftOutText(memory);
  return (
    <Section title="Storages" id="storages-of-run">
      <div class="toolbar">
        <AddressSearch id="filter" label="Filter" name="q" placeholder="place, kernel, operator" />
        <span class="muted" aria-live="polite">
          {formatCount(rows.length)} of {plural(ofDevice.length, "storage")}
        </span>
      </div>
      <Table
        id="storages"
        caption="Storages, the largest first"
        columns={COLUMNS}
        rows={rows}
        leaving={LEAVING}
        chosen={life}
        onChoose={(row) => setQuery({ storage: memory.storages.indexOf(row) })}
        height={12}
      />
      {more ? <p class="muted small">{more}</p> : null}
      {life ? (
        <Section title={`Life of a storage of ${shortText(life.made, 120)}`} id="storage">
          <StorageFacts life={life} />
          <Life life={life} caption="The storage's life" />
        </Section>
      ) : (
        <p class="muted">Choose a storage to see who wrote and read it.</p>
      )}
    </Section>
  );
}

/** In which order columns are left out on a narrow screen; a chosen storage has them. */
const LEAVING = ["Last use", "From", "Read by", "Alike", "Written by", "Finding"];

const COLUMNS: readonly Column<StorageLife>[] = [
  figure("Size", "measured", ({ bytes }) => bytes, "bytes"),
  words("Allocated at", ({ made }) => made, { prose: true, limit: 160 }),
  figure("Alike", "measured", ({ alike }) => alike, "count", "Storages of this size made there"),
  words("Written by", (life) => listed(namesOf(life, "writes")), {
    source: "derived",
    prose: true,
  }),
  words("Read by", (life) => listed(namesOf(life, "reads")), { source: "derived", prose: true }),
  figure("From", "measured", ({ begin }) => begin, "moment"),
  figure("Last use", "measured", ({ last_use: last }) => last, "moment"),
  {
    label: "Finding",
    cell: ({ findings }) =>
      findings.length ? (
        <Pill kind={severityKind(foundAs(findings[0])?.severity)}>
          {plural(findings.length, "finding")}
        </Pill>
      ) : (
        ""
      ),
    key: ({ findings }) => findings.length,
  },
];

function listed(names: readonly string[]): string {
  if (names.length < 3) return names.join(", ") || "nobody";
  return `${names.slice(0, 2).join(", ")} and ${formatCount(names.length - 2)} more`;
}

const view: View = {
  name: "memory",
  title: "Memory",
  section: "memory",
  order: 43,
  routes: ["memory"],
  shown: () => recordedRuns().length > 0,
  find: (asked) =>
    recordedRuns().length > 0 && matches(asked, "memory in use, lives of storages")
      ? [{ title: "Memory", detail: "in use over time, lives of storages", href: href("memory") }]
      : [],
  Component: Memory,
};

export default view;
