// View of NKI calls: SBUF and PSUM over the order of ops, flows between memories, engines, ops and
// tiles.

import { useMemo } from "preact/hooks";
import { NotHere } from "@report/app/boundary";
import { chosen, chosenNumber, href, setQuery } from "@report/app/router";
import type { View, ViewProps } from "@report/app/view";
import { formatGrid, formatPlace, plural, shortText } from "@report/data/format";
import { page } from "@report/data/page";
import type { CallBlock, CallSummary, Usage } from "../model";
import { useBlock } from "@report/data/use_block";
import { figure } from "@report/parts/columns";
import { derived, Figures } from "@report/parts/figure";
import { type Column, Table } from "@report/parts/table";
import { Note, Section } from "@report/parts/text";
import { amountText, MemoryMap } from "./memory_map";
import "./onchip.css";
import { OnChipSource, standsOn } from "./source";
import {
  brokenOps,
  EngineTable,
  findingsOf,
  FindingTable,
  FlowTable,
  OpTable,
  TileTable,
} from "./tables";

const INDEX = "onchip/index";

function OnChip({ params }: ViewProps) {
  const call = params["call"];
  return call === undefined ? <Calls /> : <OneCall key={call} call={call} />;
}

function Calls() {
  const loaded = useBlock<readonly CallSummary[]>(page, INDEX);
  if (loaded.state === "missing") return <NotHere what="call of an NKI kernel" />;
  return (
    <>
      <h1>On-chip memory</h1>
      <p>
        Kernels of NKI ran on NumPy. What they did is in the order of their ops; there are no times
        of a device.
      </p>
      {loaded.state === "ready" ? <CallTable rows={loaded.value} /> : <Waiting loaded={loaded} />}
    </>
  );
}

function CallTable({ rows }: { rows: readonly CallSummary[] }) {
  const columns: Column<CallSummary>[] = [
    {
      label: "Call",
      cell: (row) => (
        <a href={href(`onchip/${row.call}`)}>
          {shortText(row.kernel, 80)}, grid{" "}
          {formatGrid(page.report.calls[row.call]?.grid ?? [1, 1, 1])}
        </a>
      ),
      key: (row) => row.kernel,
    },
    { label: "Target", cell: (row) => row.target, key: (row) => row.target },
    figure("Ops", "derived", (row) => row.executed),
    ...(["sbuf", "psum"] as const).map((space) => peakColumn(space)),
  ];
  return <Table id="onchip-calls" caption="Calls of NKI kernels" columns={columns} rows={rows} />;
}

function peakColumn(space: "sbuf" | "psum"): Column<CallSummary> {
  const usage = (row: CallSummary): Usage | undefined =>
    row.usage.find((candidate) => candidate.space === space);
  return {
    label: `${space.toUpperCase()} at most`,
    title: "Of one partition, in use at once",
    source: "derived",
    number: true,
    cell: (row) => {
      const memory = usage(row);
      if (!memory) return "–";
      return `${amountText(memory, memory.peak)} of ${amountText(memory, memory.limit)}`;
    },
    key: (row) => usage(row)?.peak ?? 0,
  };
}

function OneCall(props: { call: string }) {
  const { call } = props;
  const loaded = useBlock<CallBlock>(page, `onchip/${call}`);
  if (loaded.state === "missing") return <NotHere what="on-chip memory of this call" />;
  if (loaded.state !== "ready") return <Waiting loaded={loaded} />;
  return <Shown {...props} call={Number(call)} block={loaded.value} />;
}

interface ShownProps {
  readonly call: number;
  readonly block: CallBlock;
}

function Shown({ call, block }: ShownProps) {
  const { memory } = block;
  const findings = useMemo(() => findingsOf(call), [call]);
  const broken = useMemo(() => brokenOps(findings), [findings]);
  const [line, file] = [chosenNumber("line"), chosen("file")];
  const ops = useMemo(
    () => block.ops.filter((op) => line === null || standsOn(op, line, file)),
    [block, line, file],
  );
  const op = block.ops.find(({ op_index: index }) => String(index) === chosen("op")) ?? null;
  const tile = memory.tiles.find(({ number }) => String(number) === chosen("tile")) ?? null;
  const lit = useMemo(
    () => (op ? new Set(op.touched) : tile ? new Set([tile.number]) : null),
    [op, tile],
  );
  const tiles = useMemo(
    () =>
      new Map(
        memory.usage.map(({ space }) => [
          space,
          memory.tiles.filter((candidate) => candidate.space === space),
        ]),
      ),
    [memory],
  );
  return (
    <>
      <h1>{shortText(memory.kernel, 120)}: on-chip memory</h1>
      <p>
        {plural(memory.executed, "executed op")} for {memory.target}, in their order.{" "}
        <a href={href("onchip")}>All calls of NKI kernels</a> ·{" "}
        <a href={href(`call/${call}`)}>This call</a>
      </p>
      {block.tiles_left_out > 0 ? (
        <Note>{plural(block.tiles_left_out, "smaller tile")} are neither drawn nor listed.</Note>
      ) : null}
      <Peaks block={block} />
      <Section title="Findings">
        <FindingTable findings={findings} />
      </Section>
      <Section title="SBUF and PSUM over the ops">
        {memory.usage.map((usage) => (
          <MemoryMap
            key={usage.space}
            usage={usage}
            tiles={tiles.get(usage.space) ?? []}
            executed={memory.executed}
            chosen={lit}
          />
        ))}
      </Section>
      <div class="columns">
        <Section title="Flows between memories">
          <FlowTable flows={memory.flows} />
        </Section>
        <Section title="Engines">
          <EngineTable engines={memory.engines} />
        </Section>
      </div>
      <Section
        title="Ops and their tiles"
        aside={
          line === null ? null : (
            <button
              type="button"
              class="small"
              onClick={() => setQuery({ line: null, file: null })}
            >
              Only {formatPlace(file, line)} ×
            </button>
          )
        }
      >
        <OpTable rows={ops} broken={broken} chosen={op} />
      </Section>
      <Section title="Source" id="code">
        <OnChipSource call={call} ops={block.ops} findings={findings} chosen={op} />
      </Section>
      <Section title="Tiles">
        <TileTable tiles={memory.tiles} chosen={tile} />
      </Section>
    </>
  );
}

function Peaks({ block: { memory } }: { block: CallBlock }) {
  const device = memory.engines.reduce((sum, engine) => sum + engine.device_bytes, 0);
  return (
    <Figures
      id="figures"
      of={[
        ...memory.usage.map((usage) => ({
          name: `${usage.space.toUpperCase()} at most`,
          value: usage.peak,
          shown: amountText(usage, usage.peak),
          how: "Of one partition, in use at once: from the first op that touches a tile to the last",
          detail: `of ${amountText(usage, usage.limit)} a partition, derived`,
        })),
        derived("device memory", device, "bytes", "Bytes that ops read from it and write to it"),
      ]}
    />
  );
}

function Waiting(props: { loaded: { state: string; reason?: string } }) {
  const { state, reason } = props.loaded;
  return state === "failed" ? <Note>{reason ?? "failed"}</Note> : <p class="muted">…</p>;
}

const view: View = {
  name: "onchip",
  title: "On-chip memory",
  section: "onchip",
  order: 70,
  routes: ["onchip", "onchip/:call"],
  shown: () => page.has(INDEX),
  keys: [["→ ←", "In a memory's picture: next or previous tile"]],
  Component: OnChip,
};

export default view;
