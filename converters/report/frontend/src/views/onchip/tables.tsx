// Flows between memories, engines' work, ops with their tiles, and tiles with their lives.

import type { JSX } from "preact";

import { formatBytes, formatCount, formatFlops, formatNanoseconds, formatPlace, shortText } from "../../data/format";
import { setQuery } from "../../app/router";
import type { Page } from "../../data/page";
import { type Column, Table } from "../../parts/table";
import { Pill, ShareBar } from "../../parts/text";
import {
  type CallBlock,
  type EngineWork,
  type Flow,
  type OpWork,
  SPACES,
  type Tile,
} from "./blocks";

export function FlowTable({ flows }: { flows: readonly Flow[] }): JSX.Element {
  const most = flows.reduce((greatest, flow) => Math.max(greatest, flow.bytes), 0) || 1;
  const columns: Column<Flow>[] = [
    {
      label: "From",
      cell: (flow) => SPACES[flow.source] ?? flow.source,
      key: (flow) => flow.source,
    },
    { label: "To", cell: (flow) => SPACES[flow.target] ?? flow.target, key: (flow) => flow.target },
    {
      label: "Written",
      source: "derived",
      number: true,
      cell: (flow) => formatBytes(flow.bytes),
      key: (flow) => flow.bytes,
    },
    { label: "Beside the largest", cell: (flow) => <span class="with-share"><ShareBar share={flow.bytes / most} /></span> },
    {
      label: "Ops",
      number: true,
      cell: (flow) => formatCount(flow.executions),
      key: (flow) => flow.executions,
    },
  ];
  return <Table id="onchip-flows" caption="Flows between memories" columns={columns} rows={flows} />;
}

export function EngineTable({ engines }: { engines: readonly EngineWork[] }): JSX.Element {
  const columns: Column<EngineWork>[] = [
    { label: "Engine", cell: (each) => each.engine, key: (each) => each.engine },
    figure("Ops", (each) => each.executions, formatCount),
    figure("Elements", (each) => each.elements, formatCount),
    figure("FLOP", (each) => each.flops, formatFlops),
    figure("Device memory", (each) => each.device_bytes, formatBytes),
    figure("On chip", (each) => each.chip_bytes, formatBytes),
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

function figure<Row>(
  label: string,
  value: (row: Row) => number,
  shown: (value: number) => string,
): Column<Row> {
  return {
    label,
    source: "derived",
    number: true,
    cell: (row) => shown(value(row)),
    key: value,
  };
}

export function OpTable(props: {
  page: Page;
  block: CallBlock;
  rows: readonly OpWork[];
  /** Ops of violations, by what they break. */
  broken: ReadonlyMap<number, string>;
  chosen: OpWork | null;
}): JSX.Element {
  const { page, block, rows, broken } = props;
  const columns: Column<OpWork>[] = [
    { label: "Op", cell: (op) => op.op, key: (op) => op.op },
    { label: "Line", cell: (op) => placeOf(page, op.stack), key: (op) => placeOf(page, op.stack) },
    { label: "Engine", cell: (op) => op.engine ?? "–", key: (op) => op.engine ?? "" },
    { label: "Reads", cell: (op) => names(op.reads), key: (op) => names(op.reads) },
    { label: "Writes", cell: (op) => names(op.writes), key: (op) => names(op.writes) },
    figure("Executed", (op) => op.executions, formatCount),
    figure("FLOP", (op) => op.flops, formatFlops),
    figure("Device memory", (op) => op.device_bytes, formatBytes),
    figure("On chip", (op) => op.chip_bytes, formatBytes),
    ...(block.roof
      ? [
          {
            label: "At best",
            title: `Its arithmetic or its transfers at the limits of ${block.roof.name}, over the call`,
            source: "derived" as const,
            number: true,
            cell: (op: OpWork) => formatNanoseconds(op.best_ns),
            key: (op: OpWork) => op.best_ns,
          },
        ]
      : []),
    ...(broken.size
      ? [
          {
            label: "Findings",
            cell: (op: OpWork) => (broken.has(op.op_index) ? <Pill kind="error">{broken.get(op.op_index)}</Pill> : ""),
            key: (op: OpWork) => broken.get(op.op_index) ?? "",
          },
        ]
      : []),
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

export function TileTable(props: { page: Page; tiles: readonly Tile[]; chosen: Tile | null }): JSX.Element {
  const { page, tiles, chosen } = props;
  const columns: Column<Tile>[] = [
    {
      label: "Tile",
      cell: (tile) => shortText(tile.name ?? "unnamed", 60),
      key: (tile) => tile.name ?? "",
    },
    { label: "Memory", cell: (tile) => SPACES[tile.space] ?? tile.space, key: (tile) => tile.space },
    { label: "Line", cell: (tile) => placeOf(page, tile.stack_id), key: (t) => placeOf(page, t.stack_id) },
    figure("Size", (tile) => tile.bytes, formatBytes),
    figure("Partitions", (tile) => tile.partitions, formatCount),
    figure("First op", (tile) => tile.first, formatCount),
    figure("Last op", (tile) => tile.last, formatCount),
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

function placeOf(page: Page, stack: number | null): string {
  const frame = stack === null ? undefined : page.report.stacks[stack]?.[0];
  return frame ? formatPlace(frame[0], frame[1]) : "–";
}
