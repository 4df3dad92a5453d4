// Findings of the call, each tied to the op that it is about.

import { setQuery } from "../../app/router";
import { formatTuple } from "../../data/format";
import { page } from "../../data/page";
import type { CallOps, Op, PlacedFinding } from "../../data/types";
import { figure, words } from "../../parts/columns";
import { findingColumns } from "../../parts/finding_columns";
import { Table } from "../../parts/table";
import { CallLink } from "../../parts/text";
import { AS_IT_IS } from "./state";

export interface HereFinding {
  readonly placed: PlacedFinding;
  /** The op that it is about; null where that is not known. */
  readonly op: number | null;
  /** Whether the witness is one of this call's; else another call shows it. */
  readonly own: boolean;
}

export function findingsHere(call: number, block: CallOps | null): HereFinding[] {
  return page.report.findings
    .filter((placed) => placed.call === call || placed.in_calls.includes(call))
    .map((placed) => {
      const own = placed.call === call;
      return { placed, own, op: (own ? placed.op : null) ?? opOf(placed, block)?.index ?? null };
    });
}

/** The op at the finding's place in the source that goes to its argument. */
function opOf({ found, stack }: PlacedFinding, block: CallOps | null): Op | undefined {
  const here = block?.ops.filter((op) => op.stack === stack) ?? [];
  return here.find((op) => op.buffer !== null && op.buffer === found.arg) ?? here.at(-1);
}

interface FindingTableProps {
  readonly findings: readonly HereFinding[];
  /** Bytes of an element on an op's map. */
  unitOf(op: number): number;
}

export function FindingTable({ findings, unitOf }: FindingTableProps) {
  const { rule, what, place } = findingColumns<HereFinding>(({ placed }) => placed.found);
  return (
    <Table<HereFinding>
      id="call-findings"
      caption="Findings of this call"
      columns={[
        rule,
        what,
        place,
        figure("Op", null, ({ op }) => op),
        words("Program", ({ placed }) => formatTuple(placed.found.program)),
        figure("Iteration", null, ({ placed }) => placed.found.iteration),
        words("Lane", ({ placed }) => formatTuple(placed.found.lane)),
        figure("Byte", null, ({ placed }) => placed.found.address_offset),
        { label: "Witness", cell: (each) => witness(each, unitOf) },
      ]}
      rows={findings}
    />
  );
}

function witness({ placed, own, op }: HereFinding, unitOf: (op: number) => number) {
  const { program, other_program: other, iteration: it, address_offset: byte } = placed.found;
  if (!own) return <CallLink call={placed.call ?? -1} />;
  if (op === null) return null;
  const show = (name: string, values: Parameters<typeof setQuery>[0]) => (
    <button
      type="button"
      class="quiet small"
      onClick={() => setQuery({ ...AS_IT_IS, arg: null, tab: null, lay: null, ...values })}
    >
      {name}
    </button>
  );
  const el = byte === null ? null : Math.floor(byte / unitOf(op));
  return (
    <>
      {show("Show on the map", { op, p: program?.join(","), it, el })}
      {other
        ? show("The other program", { op: placed.other_op ?? op, p: other.join(","), it: null })
        : null}
    </>
  );
}
