// The life of a storage: who made it, wrote and read it, in the order of time.

import { useMemo } from "preact/hooks";
import { href } from "@report/app/router";
import { formatBytes, formatCount, formatMoment, plural, shortText } from "@report/data/format";
import { page } from "@report/data/page";
import type { Finding } from "@report/data/types";
import { figure } from "@report/parts/columns";
import { type Column, Table } from "@report/parts/table";
import { CallLink, Facts, KernelLink, Pill, ShortPlace, stackPlace } from "@report/parts/text";
import type { StorageLife, StorageUse } from "../model";
import { type Moment, momentsOf, unwrittenText } from "./moments";

export function Life({ life, caption }: { life: StorageLife; caption: string }) {
  const rows = useMemo(() => momentsOf(life), [life]);
  return (
    <>
      <Table id="life" caption={caption} columns={COLUMNS} rows={rows} leaving={LEAVING} />
      {life.uses_left_out ? (
        <p class="muted small">
          {plural(life.uses_left_out, "further call")} between the first and the last ones used it.
        </p>
      ) : null}
    </>
  );
}

/** In which order columns are left out on a narrow screen. */
const LEAVING = ["Tensor", "Until", "Times", "At"];

const COLUMNS: readonly Column<Moment>[] = [
  figure("At", "measured", ({ at }) => at, formatMoment, "Time on the timeline"),
  {
    label: "What",
    source: "derived",
    prose: true,
    cell: (moment) => <What {...moment} />,
    text: ({ what, use }) => [what, use && unwrittenText(use)].filter(Boolean).join("; "),
  },
  {
    label: "By",
    prose: true,
    cell: ({ use, detail }) => (use ? <By use={use} /> : shortText(detail, 160)),
    text: ({ use, detail }) => use?.by ?? detail,
  },
  {
    label: "Tensor",
    cell: ({ use }) => (use?.tensor ? <code>{shortText(use.tensor, 40)}</code> : ""),
  },
  { label: "Times", number: true, cell: ({ use }) => (use ? formatCount(use.count) : "") },
  {
    label: "Until",
    number: true,
    title: "The last time",
    cell: ({ use }) => (use && use.count > 1 ? formatMoment(use.last) : ""),
  },
];

function What({ what, use, detail }: Moment) {
  const unwritten = use ? unwrittenText(use) : "";
  return (
    <>
      {what} {unwritten ? <Pill kind="warning">{unwritten}</Pill> : null}
      {use && detail ? <span class="muted">({shortText(detail, 160)})</span> : null}
    </>
  );
}

function By({ use }: { use: StorageUse }) {
  const call = page.report.calls[use.call ?? -1];
  if (use.call === null || !call) return <>{shortText(use.by, 160)}</>;
  const kernel = page.report.variants[call.variant]?.kernel ?? -1;
  return (
    <>
      <KernelLink kernel={kernel} />{" "}
      <span class="muted">
        call <CallLink call={use.call} />
        {call.stack === null ? null : (
          <>
            {" "}
            at <ShortPlace of={stackPlace(call.stack)} />
          </>
        )}
      </span>
    </>
  );
}

export function StorageFacts({ life }: { life: StorageLife }) {
  return (
    <Facts
      entries={[
        [life.is_seen ? "Allocated" : "Made", shortText(life.made, 160)],
        ["Size", formatBytes(life.bytes)],
        [
          "Alike",
          life.alike > 1
            ? `one of ${formatCount(life.alike)} storages of this size made there`
            : null,
        ],
        ["At the peak", life.at_peak ? "in use" : null],
        [
          "Findings",
          life.findings.length > 0 && (
            <>
              {life.findings.map((id, place) => (
                <span key={id}>
                  {place ? ", " : ""}
                  <FindingLink id={id} />
                </span>
              ))}
            </>
          ),
        ],
      ]}
    />
  );
}

/** The finding with an id. */
export function foundAs(id: string | undefined): Finding | undefined {
  return page.report.findings.find(({ found }) => found.finding_id === id)?.found;
}

function FindingLink({ id }: { id: string }) {
  const found = foundAs(id);
  return (
    <a href={href(`findings/${encodeURIComponent(id)}`)}>
      {shortText(found?.rule ?? id, 60)} in {shortText(found?.kernel, 80)}
    </a>
  );
}
