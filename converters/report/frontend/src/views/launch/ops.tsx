// The list of ops in the order of the program, loops among them.

import { useMemo } from "preact/hooks";
import { chosen, setQuery } from "../../app/router";
import { type Format, formatCount, formatted, type Maybe, plural } from "../../data/format";
import type { CallOps, Loop, Op } from "../../data/types";
import { code, words } from "../../parts/columns";
import { AddressChoice, AddressSearch, matches } from "../../parts/search";
import { type Column, Table } from "../../parts/table";
import { sourceText, stackPlace } from "../../parts/text";
import { isMemory } from "../../accesses/grid_work";
import { AS_IT_IS } from "./state";

interface Line {
  readonly index: number;
  readonly depth: number;
  readonly op: Op | null;
  readonly loop: Loop | null;
}

/** Ops and loops in the order of the program, as they nest. */
function linesOf({ ops, loops }: CallOps): Line[] {
  const known = new Set(loops.map(({ index }) => index));
  const inside = new Map<number | null, (Op | Loop)[]>();
  for (const each of [...ops, ...loops]) {
    const around = each.loop !== null && known.has(each.loop) ? each.loop : null;
    const own = inside.get(around) ?? [];
    inside.set(around, own);
    own.push(each);
  }
  const linesIn = (loop: number | null, depth: number): Line[] =>
    (inside.get(loop) ?? [])
      .sort((a, b) => a.index - b.index)
      .flatMap((each): Line[] => {
        // a loop around that is not known counts all the same
        const here = loop === null && each.loop !== null ? depth + 1 : depth;
        if ("op" in each) return [{ index: each.index, depth: here, op: each, loop: null }];
        const line = { index: each.index, depth: here, op: null, loop: each };
        return [line, ...linesIn(each.index, here + 1)];
      });
  return linesIn(null, 0);
}

interface OpListProps {
  readonly block: CallOps;
  readonly op: number | null;
  readonly warps: boolean;
}

export function OpList({ block, op, warps }: OpListProps) {
  const lines = useMemo(() => linesOf(block), [block]);
  const dots = useMemo(() => new Set(block.dots.map((dot) => dot.op)), [block]);
  const all = chosen("ops") === "all";
  const query = chosen("oq") ?? "";
  const shown = useMemo(
    () =>
      lines.filter(({ op: each }) => {
        if (!each) return !query;
        const listed = all || isMemory(each) || dots.has(each.index) || each.index === op;
        const place = stackPlace(each.stack);
        return listed && matches(query, each.op, each.buffer, each.dtype, place);
      }),
    [lines, all, query, op],
  );
  return (
    <div id="ops">
      <div class="toolbar">
        <AddressSearch label="Filter ops" name="oq" placeholder="op, tensor, file:line" />
        <AddressChoice
          label="Show"
          name="ops"
          options={[
            ["some", "memory ops and products"],
            ["all", `all ${block.ops.length} ops`],
          ]}
        />
      </div>
      <Table
        id="op-table"
        caption="Ops in the order of the program"
        columns={columnsOf(warps)}
        rows={shown}
        chosen={shown.find((line) => line.op !== null && line.index === op) ?? null}
        onChoose={(line) =>
          line.op && setQuery({ ...AS_IT_IS, op: line.index, arg: null, el: null, tab: null })
        }
        empty="No op matches."
        height={12}
      />
    </div>
  );
}

/** Figures of ops; nothing where an op has none. */
function own(label: string, read: (op: Op) => Maybe<number>, as: Format, title = ""): Column<Line> {
  const value = ({ op }: Line): Maybe<number> => op && read(op);
  return {
    label,
    title,
    source: "derived",
    number: true,
    cell: (line) => (value(line) == null ? "" : formatted(value(line), as)),
    text: (line) => String(value(line) ?? ""),
  };
}

export const USED = "Requested bytes divided by the bytes of the 32-byte sectors that contain them";

function columnsOf(warps: boolean): (Column<Line> | false)[] {
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
    code("Tensor", ({ op }) => op?.buffer ?? "", { limit: 60 }),
    words("Type", ({ op }) => op?.dtype ?? ""),
    words("Line", ({ op, loop }) => stackPlace((op ?? loop)?.stack ?? null)),
    own("executions", (op) => op.executions, "count"),
    own("masked off", maskedShare, "share"),
    own("bytes", (op) => op.bytes, "bytes"),
    warps && own("sector efficiency", sectorEfficiency, "share", USED),
    own("FLOPs", (op) => op.flops || null, "flops"),
  ];
}

export function maskedShare(op: Op): number | null {
  return op.masked_off === null || !op.elements ? null : op.masked_off / op.elements;
}

export function sectorEfficiency(op: Op): number | null {
  return op.bytes !== null && op.sectors ? op.bytes / (32 * op.sectors) : null;
}

function tripsText(loop: Loop | null) {
  const { min = null, median = null, max = null } = loop ?? {};
  const trips =
    min === null || max === null
      ? "trips not known"
      : min === max
        ? plural(max, "trip")
        : `${formatCount(min)} to ${formatCount(max)} trips, median ${formatCount(median)}`;
  return (
    <span title={sourceText("derived", "Iterations of the loop in each program")}>{trips}</span>
  );
}
