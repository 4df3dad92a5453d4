// On-chip memory of NKI calls: SBUF and PSUM over the order of ops, flows between memories, engines,
// ops with their tiles.

import type { JSX } from "preact";

import { NotHere } from "../../app/boundary";
import { href } from "../../app/router";
import type { View, ViewProps } from "../../app/view";
import { formatCount, formatGrid, plural, shortText } from "../../data/format";
import type { Page } from "../../data/page";
import { useBlock } from "../../data/use_block";
import { type Column, Table } from "../../parts/table";
import { Note, Section } from "../../parts/text";
import type { CallAtAGlance, CallBlock, Usage } from "./blocks";
import { MemoryMap, amountText } from "./memory_map";
import "./onchip.css";
import { EngineTable, FlowTable, OpTable, TileTable } from "./tables";

const INDEX = "onchip/index";

function OnChip({ page, params }: ViewProps): JSX.Element {
  const call = params["call"];
  return call === undefined ? <Calls page={page} /> : <OneCall page={page} call={call} />;
}

function Calls({ page }: { page: Page }): JSX.Element {
  const loaded = useBlock<readonly CallAtAGlance[]>(page, INDEX);
  if (loaded.state === "missing") return <NotHere what="call of an NKI kernel" />;
  return (
    <>
      <h1>On-chip memory</h1>
      <p>
        Kernels of NKI ran on NumPy. What they did is in the order of their ops; there are no times
        of a device.
      </p>
      {loaded.state === "ready" ? (
        <CallTable page={page} rows={loaded.value} />
      ) : (
        <Waiting loaded={loaded} />
      )}
    </>
  );
}

function CallTable(props: { page: Page; rows: readonly CallAtAGlance[] }): JSX.Element {
  const { page, rows } = props;
  const columns: Column<CallAtAGlance>[] = [
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
    {
      label: "Ops",
      source: "derived",
      number: true,
      cell: (row) => formatCount(row.executed),
      key: (row) => row.executed,
    },
    ...(["sbuf", "psum"] as const).map((space) => peakColumn(space)),
  ];
  return <Table id="onchip-calls" caption="Calls of NKI kernels" columns={columns} rows={rows} />;
}

function peakColumn(space: "sbuf" | "psum"): Column<CallAtAGlance> {
  const usage = (row: CallAtAGlance): Usage | undefined =>
    row.usage.find((each) => each.space === space);
  return {
    label: `${space.toUpperCase()} at most`,
    title: "Of one partition, in use at once",
    source: "derived",
    number: true,
    cell: (row) => {
      const found = usage(row);
      return found ? `${amountText(found, found.peak)} of ${amountText(found, found.limit)}` : "–";
    },
    key: (row) => usage(row)?.peak ?? 0,
  };
}

function OneCall({ page, call }: { page: Page; call: string }): JSX.Element {
  const loaded = useBlock<CallBlock>(page, `onchip/${call}`);
  if (loaded.state === "missing") return <NotHere what="on-chip memory of this call" />;
  if (loaded.state !== "ready") return <Waiting loaded={loaded} />;
  const block = loaded.value;
  const { memory } = block;
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
      <Section title="SBUF and PSUM over the ops">
        {memory.usage.map((usage) => (
          <MemoryMap
            key={usage.space}
            usage={usage}
            tiles={memory.tiles.filter((tile) => tile.space === usage.space)}
            executed={memory.executed}
          />
        ))}
      </Section>
      <div class="onchip-pair">
        <Section title="Flows between memories">
          <FlowTable flows={memory.flows} />
        </Section>
        <Section title="Engines">
          <EngineTable engines={memory.engines} />
        </Section>
      </div>
      <Section title="Ops and their tiles">
        <OpTable page={page} block={block} />
      </Section>
      <Section title="Tiles">
        <TileTable page={page} tiles={memory.tiles} />
      </Section>
    </>
  );
}

function Waiting(props: { loaded: { state: string; reason?: string } }): JSX.Element {
  const { state, reason } = props.loaded;
  return state === "failed" ? <Note>{reason ?? "failed"}</Note> : <p class="muted">…</p>;
}

const view: View = {
  name: "onchip",
  title: "On-chip memory",
  section: "onchip",
  order: 35,
  routes: ["onchip", "onchip/:call"],
  shown: (page) => page.has(INDEX),
  Component: OnChip,
};

export default view;
