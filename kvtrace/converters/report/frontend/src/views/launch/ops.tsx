// The list of ops in the order of the program, loops among them.

import { useMemo } from "preact/hooks";

import { formatBytes, formatCount, formatFlops, formatShare, shortText } from "../../data/format";
import type { Page } from "../../data/page";
import { useLoaded } from "../../data/use_block";
import { Choice, Search, matches } from "../../parts/search";
import { type Column, Table } from "../../parts/table";
import { sourceText, stackPlace } from "../../parts/text";
import type { CallBlock, Op } from "./blocks";
import { isMemory } from "./grid_work";
import { type Line, linesOf, textParents } from "./nesting";
import { choose, chosen } from "./state";

interface OpListProps {
  readonly page: Page;
  readonly block: CallBlock;
  readonly variant: number;
  readonly op: number | null;
}

export function OpList(props: OpListProps) {
  const { page, block, variant, op } = props;
  const loaded = useLoaded(`nesting/${variant}`, () => textParents(page, variant, block));
  const parents = loaded.state === "ready" ? loaded.value : null;
  const lines = useMemo(() => linesOf(block, parents), [block, parents]);
  const dots = useMemo(() => new Set(block.dots.map((dot) => dot.op)), [block]);
  const all = chosen("ops") === "all";
  const words = chosen("oq") ?? "";
  const shown = useMemo(
    () =>
      lines.filter(({ op: each, loop }) => {
        if (loop) return !words;
        if (!each || !(all || isMemory(each) || dots.has(each.index) || each.index === op))
          return false;
        return matches(
          words,
          each.op,
          each.buffer,
          each.dtype,
          stackPlace(page.report, each.stack),
        );
      }),
    [lines, all, words, op],
  );
  const here = shown.find((line) => line.op !== null && line.index === op) ?? null;
  return (
    <div id="ops">
      <div class="toolbar">
        <Search
          label="Filter ops"
          value={words}
          placeholder="op, tensor, file:line"
          onInput={(text) => choose({ oq: text || null })}
        />
        <Choice
          label="Show"
          value={all ? "all" : "some"}
          options={[
            ["some", "memory ops and products"],
            ["all", `all ${block.ops.length} ops`],
          ]}
          onChoose={(value) => choose({ ops: value === "all" ? "all" : null })}
        />
      </div>
      <Table
        id="op-table"
        caption="Ops in the order of the program"
        columns={columnsOf(page)}
        rows={shown}
        chosen={here}
        onChoose={(line) =>
          line.op &&
          choose({
            op: line.index,
            arg: null,
            el: null,
            tab: null,
            shape: null,
            axes: null,
            at: null,
            slice: null,
          })
        }
        empty="No op matches."
        height={12}
      />
    </div>
  );
}

function columnsOf(page: Page): Column<Line>[] {
  const figure = (
    label: string,
    read: (op: Op) => number | null,
    show: (value: number | null) => string,
    title?: string,
  ): Column<Line> => ({
    label,
    source: "derived",
    number: true,
    ...(title ? { title } : {}),
    cell: ({ op }) => (op ? show(read(op)) : ""),
    text: ({ op }) => String((op && read(op)) ?? ""),
  });
  return [
    { label: "#", number: true, cell: ({ index }) => index },
    {
      label: "Op",
      cell: ({ op, loop, depth }) => (
        <span
          class="launch-op"
          data-depth={depth}
          style={{ paddingInlineStart: `${depth * 16}px` }}
        >
          {op ? <code>{op.op}</code> : <span class="muted">loop {tripsText(loop)}</span>}
        </span>
      ),
      text: ({ op, depth }) => " ".repeat(2 * depth) + (op?.op ?? "loop"),
    },
    {
      label: "Tensor",
      cell: ({ op }) => (op?.buffer ? <code>{shortText(op.buffer, 60)}</code> : ""),
    },
    { label: "Type", cell: ({ op }) => op?.dtype ?? "" },
    { label: "Line", cell: ({ op, loop }) => stackPlace(page.report, (op ?? loop)?.stack ?? null) },
    figure("executions", (op) => op.executions, formatCount),
    figure(
      "masked off",
      (op) => (op.masked_off === null || !op.elements ? null : op.masked_off / op.elements),
      (value) => (value === null ? "" : formatShare(value, 1)),
    ),
    figure(
      "bytes",
      (op) => op.bytes,
      (value) => (value === null ? "" : formatBytes(value)),
    ),
    figure(
      "sector efficiency",
      sectorEfficiency,
      (value) => (value === null ? "" : formatShare(value, 1)),
      "Bytes asked for, of those in the 32-byte sectors that they lie in",
    ),
    figure(
      "FLOPs",
      (op) => op.flops,
      (value) => (value ? formatFlops(value) : ""),
    ),
  ];
}

export function sectorEfficiency(op: Op): number | null {
  return op.bytes !== null && op.sectors ? op.bytes / (32 * op.sectors) : null;
}

function tripsText(loop: Line["loop"]) {
  const { min = null, median = null, max = null } = loop ?? {};
  const trips =
    min === null || max === null
      ? "trips not known"
      : min === max
        ? `${formatCount(max)} ${max === 1 ? "trip" : "trips"}`
        : `${formatCount(min)} to ${formatCount(max)} trips, median ${formatCount(median)}`;
  return <span title={sourceText("derived", "Trips of each program")}>{trips}</span>;
}
