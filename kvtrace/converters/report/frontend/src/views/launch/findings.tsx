// Findings of the call, each tied to the op that it is about.

import { useMemo } from "preact/hooks";

import { formatCount, formatPlace, formatTuple, shortText } from "../../data/format";
import type { Page } from "../../data/page";
import type { PlacedFinding } from "../../data/types";
import { type Column, Table } from "../../parts/table";
import { CallLink, Pill, severityKind } from "../../parts/text";
import type { CallBlock, Op } from "./blocks";
import { choose } from "./state";

export interface HereFinding {
  readonly placed: PlacedFinding;
  /** The op that it is about; null where that cannot be told. */
  readonly op: number | null;
  /** Whether the witness is one of this call's; else another call shows it. */
  readonly own: boolean;
}

export function findingsHere(page: Page, call: number, block: CallBlock | null): HereFinding[] {
  return page.report.findings
    .filter((placed) => placed.call === call || placed.in_calls.includes(call))
    .map((placed) => {
      const own = placed.call === call;
      const op = own ? placed.op : null;
      return { placed, own, op: op ?? (block ? (opOf(placed, block)?.index ?? null) : null) };
    });
}

/** The op at the finding's place in the source that goes to its argument. */
function opOf({ found, stack }: PlacedFinding, block: CallBlock): Op | undefined {
  const here = block.ops.filter((op) => op.stack === stack);
  return here.find((op) => op.buffer !== null && op.buffer === found.arg) ?? here.at(-1);
}

/** Choose the witness: its op, program and iteration, and the element; `unit` is its size. */
function showWitness({ placed, op }: HereFinding, unit: number): void {
  const { found } = placed;
  choose({
    op,
    p: found.program ? found.program.join(",") : null,
    it: found.iteration,
    el: found.address_offset === null ? null : Math.floor(found.address_offset / unit),
    ...PLAIN,
  });
}

/** Choose what the other program of a race does at the same element. */
function showOther({ placed, op }: HereFinding): void {
  choose({
    op: placed.other_op ?? op,
    p: placed.found.other_program?.join(",") ?? null,
    it: null,
    ...PLAIN,
  });
}

/** The map of the op's own tensor, as it is. */
const PLAIN = { arg: null, tab: null, shape: null, axes: null, at: null, slice: null, lay: null };

interface FindingTableProps {
  readonly page: Page;
  readonly findings: readonly HereFinding[];
  /** Bytes of an element on an op's map; null where the op has none. */
  unitOf(op: number): number | null;
}

export function FindingTable(props: FindingTableProps) {
  const rows = useMemo(() => props.findings, [props.findings]);
  const columns: Column<HereFinding>[] = [
    {
      label: "Rule",
      cell: ({ placed }) => (
        <Pill kind={severityKind(placed.found.severity)}>{placed.found.rule}</Pill>
      ),
      text: ({ placed }) => placed.found.rule,
    },
    {
      label: "What",
      prose: true,
      cell: ({ placed }) => shortText(placed.found.message ?? placed.found.reason),
    },
    {
      label: "Line",
      cell: ({ placed }) => shortText(formatPlace(placed.found.file, placed.found.line)),
    },
    { label: "Op", number: true, cell: ({ op }) => formatCount(op) },
    { label: "Program", cell: ({ placed }) => formatTuple(placed.found.program) },
    { label: "Iteration", number: true, cell: ({ placed }) => formatCount(placed.found.iteration) },
    { label: "Lane", cell: ({ placed }) => formatTuple(placed.found.lane) },
    { label: "Byte", number: true, cell: ({ placed }) => formatCount(placed.found.address_offset) },
    {
      label: "Witness",
      cell: (each) => <Witness {...props} finding={each} />,
    },
  ];
  return <Table id="call-findings" caption="Findings of this call" columns={columns} rows={rows} />;
}

function Witness(props: FindingTableProps & { finding: HereFinding }) {
  const { finding } = props;
  const { placed, own, op } = finding;
  if (!own) return <CallLink page={props.page} call={placed.call ?? -1} />;
  if (op === null) return null;
  return (
    <>
      <button
        type="button"
        class="quiet small"
        onClick={() => showWitness(finding, props.unitOf(op) ?? 1)}
      >
        Show on the map
      </button>
      {placed.found.other_program ? (
        <button type="button" class="quiet small" onClick={() => showOther(finding)}>
          The other program
        </button>
      ) : null}
    </>
  );
}
