// Findings of the call, each tied to the op that it is about.

import { formatTuple } from "../../data/format";
import type { Page } from "../../data/page";
import type { PlacedFinding } from "../../data/types";
import { figure, words } from "../../parts/columns";
import { findingColumns } from "../../parts/finding_columns";
import { Table } from "../../parts/table";
import { CallLink } from "../../parts/text";
import type { CallBlock, Op } from "./blocks";
import { AS_IT_IS, choose } from "./state";

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

interface FindingTableProps {
  readonly page: Page;
  readonly findings: readonly HereFinding[];
  /** Bytes of an element on an op's map; null where the op has none. */
  unitOf(op: number): number | null;
}

export function FindingTable(props: FindingTableProps) {
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
        { label: "Witness", cell: (each) => <Witness {...props} finding={each} /> },
      ]}
      rows={props.findings}
    />
  );
}

function Witness(props: FindingTableProps & { finding: HereFinding }) {
  const { placed, own, op } = props.finding;
  const { program, other_program: other, iteration, address_offset: byte } = placed.found;
  if (!own) return <CallLink page={props.page} call={placed.call ?? -1} />;
  if (op === null) return null;
  const plain = { ...AS_IT_IS, arg: null, tab: null, lay: null };
  const unit = props.unitOf(op) ?? 1;
  const el = byte === null ? null : Math.floor(byte / unit);
  const p = program?.join(",") ?? null;
  return (
    <>
      <button
        type="button"
        class="quiet small"
        onClick={() => choose({ ...plain, op, p, it: iteration, el })}
      >
        Show on the map
      </button>
      {other ? (
        <button
          type="button"
          class="quiet small"
          onClick={() =>
            choose({ ...plain, op: placed.other_op ?? op, p: other.join(","), it: null })
          }
        >
          The other program
        </button>
      ) : null}
    </>
  );
}
