// Tables of flows between memories, engines, ops with their tiles, tiles with their lifetimes, and
// findings.

import { setQuery } from "@report/app/router";
import { formatPlace, shortText } from "@report/data/format";
import { page } from "@report/data/page";
import type { PlacedFinding } from "@report/data/types";
import type { EngineWork, Flow, OpWork, Tile } from "../model";
import { fieldsOf, figure, sharedFigure, words } from "@report/parts/columns";
import { findingColumns } from "@report/parts/finding_columns";
import { type Column, Table } from "@report/parts/table";
import { Pill, stackPlace } from "@report/parts/text";
import { SPACES } from "./memory_map";

export function FlowTable({ flows }: { flows: readonly Flow[] }) {
  const most = flows.reduce((greatest, flow) => Math.max(greatest, flow.bytes), 0) || 1;
  const columns: Column<Flow>[] = [
    words("From", (flow) => SPACES[flow.source] ?? flow.source),
    words("To", (flow) => SPACES[flow.target] ?? flow.target),
    sharedFigure("Written", "derived", (flow) => flow.bytes, most, "bytes"),
    figure("Ops", null, (flow) => flow.executions),
  ];
  return (
    <Table id="onchip-flows" caption="Flows between memories" columns={columns} rows={flows} />
  );
}

export function EngineTable({ engines }: { engines: readonly EngineWork[] }) {
  const field = fieldsOf((each: EngineWork) => each);
  return (
    <Table
      id="onchip-engines"
      caption="Work of the engines"
      columns={[
        words("Engine", (each: EngineWork) => each.engine),
        field("Ops", "derived", "executions"),
        field("Elements", "derived", "elements"),
        field("FLOP", "derived", "flops", "flops"),
        field("Device memory", "derived", "device_bytes", "bytes"),
        field("On chip", "derived", "chip_bytes", "bytes"),
      ]}
      rows={engines}
      sort="Ops"
    />
  );
}

export function OpTable(props: {
  rows: readonly OpWork[];
  /** Op index → rules that the op violates. */
  broken: ReadonlyMap<number, string>;
  chosen: OpWork | null;
}) {
  const { rows, broken } = props;
  const field = fieldsOf((op: OpWork) => op);
  const columns: (Column<OpWork> | null | false)[] = [
    words("Op", (op) => op.op),
    words("Line", (op) => stackPlace(op.stack)),
    words("Engine", (op) => op.engine),
    words("Reads", (op) => op.reads.join(", ") || null, { limit: 80 }),
    words("Writes", (op) => op.writes.join(", ") || null, { limit: 80 }),
    field("Executed", "derived", "executions"),
    field("FLOP", "derived", "flops", "flops"),
    field("Device memory", "derived", "device_bytes", "bytes"),
    field("On chip", "derived", "chip_bytes", "bytes"),
    broken.size > 0 && {
      ...words("Findings", (op: OpWork) => broken.get(op.op_index) ?? ""),
      cell: (op) =>
        broken.has(op.op_index) ? <Pill kind="error">{broken.get(op.op_index)}</Pill> : "",
    },
  ];
  return (
    <Table
      id="onchip-ops"
      caption="Ops and their tiles"
      columns={columns}
      rows={rows}
      chosen={props.chosen}
      onChoose={(op) => setQuery({ op: op === props.chosen ? null : op.op_index, tile: null })}
      height={14}
      empty="No op is on this line or in these trips."
    />
  );
}

export function TileTable({ tiles, chosen }: { tiles: readonly Tile[]; chosen: Tile | null }) {
  const columns: Column<Tile>[] = [
    words("Tile", (tile) => tile.name ?? "unnamed", { limit: 60 }),
    words("Memory", (tile) => SPACES[tile.space] ?? tile.space),
    words("Line", (tile) => stackPlace(tile.stack_id)),
    figure("Size", "derived", (tile) => tile.bytes, "bytes"),
    figure("Partitions", "derived", (tile) => tile.partitions),
    figure("First op", "derived", (tile) => tile.first),
    figure("Last op", "derived", (tile) => tile.last),
  ];
  return (
    <Table
      id="onchip-tiles"
      caption="Tiles and their lives"
      columns={columns}
      rows={tiles}
      sort="Size"
      chosen={chosen}
      onChoose={(tile) => setQuery({ tile: tile === chosen ? null : tile.number, op: null })}
      height={14}
    />
  );
}

/** Returns the violations in a call that are not suppressed. */
export function findingsOf(call: number): readonly PlacedFinding[] {
  return page.report.findings.filter(
    ({ found, call: origin, in_calls: calls }) =>
      !found.suppressed && found.verdict !== "proven" && (origin === call || calls.includes(call)),
  );
}

/** Returns op index → rules that the op violates. */
export function brokenOps(findings: readonly PlacedFinding[]): ReadonlyMap<number, string> {
  const broken = new Map<number, string>();
  for (const { op, found } of findings) {
    if (op !== null) broken.set(op, [broken.get(op), found.rule].filter(Boolean).join(", "));
  }
  return broken;
}

export function FindingTable({ findings }: { findings: readonly PlacedFinding[] }) {
  if (!findings.length) {
    return (
      <p id="onchip-fine">
        <Pill kind="fine">none</Pill> No rule of the machine is broken in this call.
      </p>
    );
  }
  const { rule, place, what } = findingColumns<PlacedFinding>(({ found }) => found);
  const toLine = ({ found }: PlacedFinding) => (
    <button
      type="button"
      class="quiet small"
      onClick={() => setQuery({ line: found.line, file: found.file })}
    >
      {shortText(formatPlace(found.file, found.line), 60)}
    </button>
  );
  return (
    <Table
      id="onchip-findings"
      caption="Rules that this call breaks"
      rows={findings}
      columns={[{ ...place, cell: toLine }, rule, what]}
    />
  );
}
