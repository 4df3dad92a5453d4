// Checked launches: what the device computed, against what the kernels' IR means.

import { useMemo } from "preact/hooks";
import { NotHere } from "@report/app/boundary";
import { chosen, chosenNumber, href, setQuery } from "@report/app/router";
import type { View } from "@report/app/view";
import { formatCount, formatTuple, plural } from "@report/data/format";
import { page } from "@report/data/page";
import type { CheckRow } from "../model";
import { useBlock } from "@report/data/use_block";
import { code, figure, words } from "@report/parts/columns";
import { derived, Figures } from "@report/parts/figure";
import { AddressChoice, AddressSearch, matches } from "@report/parts/search";
import { type Column, Table } from "@report/parts/table";
import {
  CallLink,
  DroppedNotes,
  Facts,
  KernelLink,
  kernelName,
  Note,
  Pill,
  type PillKind,
  Section,
} from "@report/parts/text";
import { ErrorMapPart } from "./error_map";
import { CHECKS, kernelOf, stageOf, variantOf } from "./rows";

const PILLS: Readonly<Record<string, PillKind>> = { differs: "error", agrees: "fine" };
const scientific = (value: number | null | undefined): string =>
  value === 0 ? "0" : (value?.toPrecision(3) ?? "–");

function Checks() {
  const loaded = useBlock<readonly CheckRow[]>(page, CHECKS);
  if (loaded.state === "missing") return <NotHere what="checked launch" />;
  return (
    <>
      <h1>Checked launches</h1>
      <DroppedNotes />
      <p>
        What each storage held after a launch is measured; what the kernel&apos;s IR means, and how
        far a device that keeps to it may be off, is derived.
      </p>
      {loaded.state === "failed" ? <Note kind="warning">{loaded.reason}</Note> : null}
      {loaded.state === "ready" ? <Shown all={loaded.value} /> : null}
    </>
  );
}

function Shown({ all }: { all: readonly CheckRow[] }) {
  const [asked, kernel, answer] = [chosen("q") ?? "", chosenNumber("kernel"), chosen("answer")];
  const rows = useMemo(
    () =>
      all.filter(
        (row) =>
          matches(
            asked,
            kernelName(kernelOf(row)),
            row.name,
            row.pattern,
            row.reason,
            stageOf(row),
          ) &&
          (kernel === null || kernelOf(row) === kernel) &&
          (answer === null || row.answer === answer),
      ),
    [all, asked, kernel, answer],
  );
  const row = all.find(({ number }) => number === chosenNumber("check")) ?? null;
  const count = (of: string): number => all.filter((each) => each.answer === of).length;
  const kernels = [...new Set(all.map(kernelOf))].filter((each) => each >= 0);
  return (
    <>
      <Figures
        id="figures"
        of={["differs", "agrees", "undecided"].map((of) =>
          derived(of, count(of), "count", "Storages after launches"),
        )}
      />
      <div class="toolbar">
        <AddressSearch id="check-filter" label="Filter" name="q" placeholder="kernel, tensor" />
        <AddressChoice
          label="Answer"
          name="answer"
          options={[
            ["", "all answers"],
            ...["differs", "agrees", "undecided"].map((each) => [each, each] as const),
          ]}
        />
        <AddressChoice
          label="Kernel"
          name="kernel"
          options={[
            ["", "all kernels"],
            ...kernels.map((each) => [String(each), kernelName(each)] as const),
          ]}
        />
        <span class="muted" aria-live="polite">
          {formatCount(rows.length)} of {plural(all.length, "storage")}
        </span>
      </div>
      <Table
        id="checks"
        caption="Checked launches"
        columns={COLUMNS}
        rows={rows}
        leaving={LEAVING}
        chosen={row}
        onChoose={({ number }) => setQuery({ check: number })}
      />
      {row ? <OneCheck key={row.number} row={row} /> : null}
    </>
  );
}

/** In which order columns are left out on a narrow screen; a chosen storage has these figures. */
const LEAVING = [
  "Stages",
  "Launch",
  "Elements",
  "Within",
  "IR",
  "The farthest: device",
  "Warps",
  "Differing",
  "Tensor",
  "At fault",
];

const COLUMNS: readonly Column<CheckRow>[] = [
  {
    label: "Answer",
    source: "derived",
    cell: ({ answer }) => <Pill kind={PILLS[answer] ?? "plain"}>{answer}</Pill>,
    key: ({ answer }) => answer,
  },
  {
    label: "Kernel",
    cell: (row) => <KernelLink kernel={kernelOf(row)} />,
    key: (row) => kernelName(kernelOf(row)),
  },
  figure("Warps", "compiler", (row) => variantOf(row)?.num_warps),
  figure("Stages", "compiler", (row) => variantOf(row)?.num_stages),
  figure("Launch", "measured", (row) => row.seq),
  code("Tensor", (row) => row.name, { limit: 40 }),
  figure("Elements", "measured", (row) => row.elements),
  figure("Differing", "derived", (row) => row.differing),
  words("The farthest: device", (row) => row.got, { source: "measured" }),
  words("IR", (row) => row.expected, { source: "derived" }),
  figure("Within", "derived", (row) => row.worst_bound, scientific, "How far it may be off"),
  words("At fault", stageOf, { source: "derived", title: "The compiler's stage at fault" }),
  words("Where, or why not", (row) => row.pattern ?? row.reason, { prose: true, limit: 200 }),
];

function OneCheck({ row }: { row: CheckRow }) {
  const variant = variantOf(row);
  return (
    <Section title={`Launch ${row.seq}: ${row.name ?? "not computed"}`} id="check">
      <Facts
        entries={[
          ["Answer", row.answer],
          ["Kernel", <KernelLink kernel={kernelOf(row)} />],
          ["Call", row.call === null ? null : <CallLink call={row.call} />],
          ["Compiled with", variant && `${variant.num_warps} warps, ${variant.num_stages} stages`],
          ["Why", row.reason],
          ["What they share", row.pattern],
          ["Stage at fault", row.stage && `${stageOf(row)}: ${row.stage_reason} (derived)`],
          ["Farthest in", row.program && `program ${formatTuple(row.program)}`],
          ["Its lane", row.lane && formatTuple(row.lane)],
          ["The device has", row.got && `${row.got} (measured)`],
          [
            "The IR means",
            row.expected && `${row.expected} within ${scientific(row.worst_bound)} (derived)`,
          ],
          [
            "Bounds",
            row.bound === null
              ? null
              : `${scientific(row.bound)} of the root mean square, the median (derived)`,
          ],
          [
            "Used of them",
            row.nearest === null
              ? null
              : `${scientific(row.nearest)} by the farthest that is within (derived)`,
          ],
          [
            "Not decided",
            row.undecided ? `${formatCount(row.undecided)} of ${formatCount(row.elements)}` : null,
          ],
        ]}
      />
      {row.has_map ? <ErrorMapPart row={row} /> : null}
    </Section>
  );
}

const view: View = {
  name: "checks",
  title: "Checks",
  section: "checks",
  order: 45,
  routes: ["checks"],
  shown: () => page.has(CHECKS),
  find: (asked) =>
    page.has(CHECKS) && matches(asked, "checked launches")
      ? [{ title: "Checked launches", detail: "against their IR", href: href("checks") }]
      : [],
  Component: Checks,
};

export default view;
