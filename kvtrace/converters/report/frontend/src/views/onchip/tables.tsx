// Flows between memories, engines' work, ops with their tiles, and tiles with their lives.

import { href, setQuery } from "../../app/router";
import { formatPlace, shortText } from "../../data/format";
import type { Page } from "../../data/page";
import type { CallBlock, EngineWork, Flow, OpWork, PlacedFinding, Tile } from "../../data/types";
import { figure, sharedFigure, words } from "../../parts/columns";
import { type Column, Table } from "../../parts/table";
import { Pill, stackPlace } from "../../parts/text";
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
  const columns: Column<EngineWork>[] = [
    { label: "Engine", cell: (each) => each.engine, key: (each) => each.engine },
    figure("Ops", "derived", (each) => each.executions),
    figure("Elements", "derived", (each) => each.elements),
    figure("FLOP", "derived", (each) => each.flops, "flops"),
    figure("Device memory", "derived", (each) => each.device_bytes, "bytes"),
    figure("On chip", "derived", (each) => each.chip_bytes, "bytes"),
  ];
  return (
    <Table
      id="onchip-engines"
      caption="Work of the engines"
      columns={columns}
      rows={engines}
      sort="Ops"
    />
  );
}

export function OpTable(props: {
  page: Page;
  block: CallBlock;
  rows: readonly OpWork[];
  /** Ops of violations, by what they break. */
  broken: ReadonlyMap<number, string>;
  chosen: OpWork | null;
}) {
  const { page, block, rows, broken } = props;
  const columns: (Column<OpWork> | null | false)[] = [
    { label: "Op", cell: (op) => op.op, key: (op) => op.op },
    words("Line", (op) => stackPlace(page.report, op.stack)),
    { label: "Engine", cell: (op) => op.engine ?? "–", key: (op) => op.engine ?? "" },
    { label: "Reads", cell: (op) => names(op.reads), key: (op) => names(op.reads) },
    { label: "Writes", cell: (op) => names(op.writes), key: (op) => names(op.writes) },
    figure("Executed", "derived", (op) => op.executions),
    figure("FLOP", "derived", (op) => op.flops, "flops"),
    figure("Device memory", "derived", (op) => op.device_bytes, "bytes"),
    figure("On chip", "derived", (op) => op.chip_bytes, "bytes"),
    block.roof &&
      figure(
        "At best",
        "derived",
        (op) => op.best_ns,
        "ns",
        `Its arithmetic or its transfers at the limits of ${block.roof.name}, over the call`,
      ),
    broken.size > 0 && {
      label: "Findings",
      cell: (op) =>
        broken.has(op.op_index) ? <Pill kind="error">{broken.get(op.op_index)}</Pill> : "",
      key: (op) => broken.get(op.op_index) ?? "",
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
      empty="No op is on this line."
    />
  );
}

export function TileTable(props: { page: Page; tiles: readonly Tile[]; chosen: Tile | null }) {
  const { page, tiles, chosen } = props;
  const columns: Column<Tile>[] = [
    words("Tile", (tile) => tile.name ?? "unnamed", { limit: 60 }),
    words("Memory", (tile) => SPACES[tile.space] ?? tile.space),
    words("Line", (tile) => stackPlace(page.report, tile.stack_id)),
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

function names(listed: readonly string[]): string {
  return shortText(listed.join(", ") || "–", 80);
}

/** Findings of a call that are not proofs, and not suppressed. */
export function findingsOf(page: Page, call: number): readonly PlacedFinding[] {
  return page.report.findings.filter(
    ({ found, call: own, in_calls: calls }) =>
      !found.suppressed && found.verdict !== "proven" && (own === call || calls.includes(call)),
  );
}

/** Rules that are broken, by op. */
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
  return (
    <Table
      id="onchip-findings"
      caption="Rules that this call breaks"
      rows={findings}
      columns={[
        {
          label: "Line",
          cell: ({ found }) => (
            <button
              type="button"
              class="quiet small"
              onClick={() => setQuery({ line: found.line, file: found.file })}
            >
              {shortText(formatPlace(found.file, found.line), 60)}
            </button>
          ),
          key: ({ found }) => found.line,
        },
        {
          label: "Rule",
          cell: ({ found }) => (
            <Pill kind={found.severity === "error" ? "error" : "warning"}>{found.rule}</Pill>
          ),
          key: ({ found }) => found.rule,
        },
        {
          label: "What",
          prose: true,
          cell: ({ found }) => (
            <a href={href(`findings/${encodeURIComponent(found.finding_id)}`)}>
              {shortText(found.message ?? found.rule, 400)}
            </a>
          ),
          text: ({ found }) => found.message ?? "",
        },
      ]}
    />
  );
}
