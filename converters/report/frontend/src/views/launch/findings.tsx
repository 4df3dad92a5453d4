// Findings of the call, each tied to the op that it is about.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";

import { formatCount, formatPlace, formatTuple, shortText } from "../../data/format";
import type { Page } from "../../data/page";
import type { PlacedFinding } from "../../data/types";
import { type Column, Table } from "../../parts/table";
import { Pill } from "../../parts/text";
import type { CallBlock, Op } from "./blocks";
import { choose } from "./state";

export interface HereFinding {
  readonly placed: PlacedFinding;
  /** The op that it is about; null where that cannot be told. */
  readonly op: number | null;
}

export function findingsHere(page: Page, call: number, block: CallBlock | null): HereFinding[] {
  return page.report.findings
    .filter((placed) => placed.call === call)
    .map((placed) => ({ placed, op: block ? (opOf(placed, block)?.index ?? null) : null }));
}

/** The op at the finding's place in the source that goes to its argument. */
function opOf({ found, stack }: PlacedFinding, block: CallBlock): Op | undefined {
  const here = block.ops.filter((op) => op.stack === stack);
  return here.find((op) => op.buffer !== null && op.buffer === found.arg) ?? here.at(-1);
}

/** Choose the witness: its op, program, iteration and element. */
export function showWitness({ placed, op }: HereFinding): void {
  const { found } = placed;
  choose({
    op,
    p: found.program ? found.program.join(",") : null,
    it: found.iteration,
    el: null,
    tab: null,
  });
}

export function FindingTable(props: { findings: readonly HereFinding[] }): JSX.Element {
  const rows = useMemo(() => props.findings, [props.findings]);
  const columns: Column<HereFinding>[] = [
    { label: "Rule", cell: ({ placed }) => <Pill kind={kindOf(placed)}>{placed.found.rule}</Pill>, text: ({ placed }) => placed.found.rule },
    { label: "What", prose: true, cell: ({ placed }) => shortText(placed.found.message ?? placed.found.reason) },
    { label: "Line", cell: ({ placed }) => formatPlace(placed.found.file, placed.found.line) },
    { label: "Op", number: true, cell: ({ op }) => formatCount(op) },
    { label: "Program", cell: ({ placed }) => formatTuple(placed.found.program) },
    { label: "Iteration", number: true, cell: ({ placed }) => formatCount(placed.found.iteration) },
    { label: "Lane", cell: ({ placed }) => formatTuple(placed.found.lane) },
    { label: "Byte", number: true, cell: ({ placed }) => formatCount(placed.found.address_offset) },
    {
      label: "Witness",
      cell: (each) =>
        each.op === null ? "" : (
          <button type="button" class="quiet small" onClick={() => showWitness(each)}>
            Show on the map
          </button>
        ),
    },
  ];
  return <Table id="call-findings" caption="Findings of this call" columns={columns} rows={rows} />;
}

function kindOf({ found }: PlacedFinding): "error" | "warning" | "note" {
  return found.severity === "error" || found.severity === "warning" ? found.severity : "note";
}
