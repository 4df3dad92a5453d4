// Outputs of kernels whose rows are to be the same in every batch: verdicts, and trees behind them.

import { useMemo } from "preact/hooks";
import { NotHere } from "@report/app/boundary";
import { chosen, chosenNumber, href, setQuery } from "@report/app/router";
import type { View } from "@report/app/view";
import { formatCount, plural } from "@report/data/format";
import { page } from "@report/data/page";
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
  Note,
  Pill,
  type PillKind,
  Section,
} from "@report/parts/text";
import type { InvarianceRow } from "../model";
import "./invariance.css";
import { INDEX, kernelOf } from "./rows";
import { Trees } from "./trees";

const VERDICTS = ["violation", "unknown", "proven"] as const;
const PILLS: Readonly<Record<string, PillKind>> = {
  violation: "error",
  unknown: "warning",
  proven: "fine",
};

function Invariance() {
  const loaded = useBlock<readonly InvarianceRow[]>(page, INDEX);
  if (loaded.state === "missing") return <NotHere what="judged output" />;
  return (
    <>
      <h1>Batch invariance</h1>
      <DroppedNotes />
      <p>
        Whether a row&apos;s result is the same in every batch: derived from the IR of recorded
        launches, and proven for TTIR as written. No device was measured.
      </p>
      {loaded.state === "failed" ? <Note kind="warning">{loaded.reason}</Note> : null}
      {loaded.state === "ready" ? <Shown all={loaded.value} /> : null}
    </>
  );
}

function Shown({ all }: { all: readonly InvarianceRow[] }) {
  const [asked, verdict] = [chosen("q") ?? "", chosen("verdict")];
  const rows = useMemo(
    () =>
      all.filter(
        (row) =>
          matches(asked, row.kernel, row.output, row.text) &&
          (verdict === null || row.verdict === verdict),
      ),
    [all, asked, verdict],
  );
  const row = all.find(({ number }) => number === chosenNumber("output")) ?? null;
  const choose = ({ number }: InvarianceRow): void =>
    setQuery({ output: number, left: null, right: null, node: null, file: null, line: null });
  return (
    <>
      <Figures
        id="figures"
        of={VERDICTS.map((of) =>
          derived(
            of === "violation" ? "violations" : of,
            all.filter((each) => each.verdict === of).length,
            "count",
            "Outputs",
          ),
        )}
      />
      <div class="toolbar">
        <AddressSearch id="filter" label="Filter" name="q" placeholder="kernel, output, reason" />
        <AddressChoice
          label="Verdict"
          name="verdict"
          options={[["", "all verdicts"], ...VERDICTS.map((each) => [each, each] as const)]}
        />
        <span class="muted" aria-live="polite">
          {formatCount(rows.length)} of {plural(all.length, "output")}
        </span>
      </div>
      <Table
        id="outputs"
        caption="Outputs that were judged"
        columns={COLUMNS}
        rows={rows}
        chosen={row}
        onChoose={choose}
      />
      {row ? <OneOutput key={row.number} row={row} /> : null}
    </>
  );
}

const COLUMNS: readonly Column<InvarianceRow>[] = [
  {
    label: "Verdict",
    source: "derived",
    cell: ({ verdict }) => <Pill kind={PILLS[verdict] ?? "plain"}>{verdict}</Pill>,
    key: ({ verdict }) => verdict,
  },
  {
    label: "Kernel",
    cell: (row) => <KernelLink kernel={kernelOf(row)} name={row.kernel} />,
    key: (row) => row.kernel,
  },
  code("Output", (row) => row.output, { limit: 40 }),
  code("Over", (row) => row.over, { title: "What must not change a row's result" }),
  figure("Asked by line", null, (row) => row.contract, "count", "The contract in the source"),
  figure("Trees", "derived", (row) => row.trees, "count", "Trees of recorded sizes of the batch"),
  words("Why", (row) => row.text, { prose: true, limit: 240 }),
];

function OneOutput({ row }: { row: InvarianceRow }) {
  return (
    <>
      <Section title={`${row.kernel}: ${row.output ?? "no output"}`} id="output">
        <Facts
          entries={[
            ["Verdict", `${row.verdict} (derived)`],
            ["Over", <code>{row.over}</code>],
            ["Asked by", row.contract === null ? "--rule not-invariant" : `line ${row.contract}`],
            ["A call", row.call === null ? null : <CallLink call={row.call} />],
          ]}
        />
        {row.text ? <p>{row.text}</p> : null}
        {row.values && row.launches ? <Witness {...row} of={row.values} at={row.launches} /> : null}
      </Section>
      <Trees row={row} />
    </>
  );
}

interface WitnessProps {
  readonly element: number | null;
  readonly of: readonly [string, string];
  readonly at: readonly [string, string];
}

/** Two values of one element of a row. */
function Witness({ element, of, at }: WitnessProps) {
  return (
    <div class="witness" id="witness">
      <p>
        For the same data, element {element} of a row has two values by the evaluator (derived):
      </p>
      <dl>
        {at.map((launch, place) => (
          <div key={launch}>
            <dt>{launch}</dt>
            <dd>
              <code>{of[place]}</code>
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

const view: View = {
  name: "invariance",
  title: "Invariance",
  section: "invariance",
  order: 47,
  routes: ["invariance"],
  shown: () => page.has(INDEX),
  find: (asked) =>
    page.has(INDEX) && matches(asked, "batch invariance")
      ? [{ title: "Batch invariance", detail: "rows and their batches", href: href("invariance") }]
      : [],
  Component: Invariance,
};

export default view;
