// The chosen op: what it did, where it is, and its accesses.

import { useMemo } from "preact/hooks";
import { chosen, setQuery } from "../../app/router";
import { formatCount, formatPlace, shortText } from "../../data/format";
import { page } from "../../data/page";
import type { Call, CallOps, Op } from "../../data/types";
import { Split } from "../../parts/beside";
import { SourceExcerpt } from "../../parts/excerpt";
import { derived, Figures } from "../../parts/figure";
import { AddressChoice } from "../../parts/search";
import { Tabs } from "../../parts/tabs";
import { Note } from "../../parts/text";
import { isKnown } from "../../accesses/records";
import type { HereFinding } from "./findings";
import { describedLanes, isMemory } from "../../accesses/grid_work";
import { MapPanel } from "./map_panel";
import { Matmul } from "./matmul";
import { maskedShare, sectorEfficiency } from "./ops";
import { hasWarps, tensorsOf, touchedBy } from "./scene";
import { AS_IT_IS, type Place } from "./state";

interface OpPanelProps {
  readonly call: Call;
  readonly block: CallOps;
  readonly grid: Place;
  readonly op: Op;
  readonly findings: readonly HereFinding[];
}

export function OpPanel(props: OpPanelProps) {
  const { call, block, grid, op } = props;
  const names = useMemo(() => tensorsOf(block, op.index), [block, op]);
  const name = chosen("arg");
  const touched = useMemo(() => touchedBy(call, block, op.index, name), [block, op, name]);
  // the product that it is, or that it loads or stores for
  const dot =
    block.dots.find((each) => each.op === op.index) ??
    block.dots.find((each) => [each.a, each.b, each.c].includes(op.index));
  const gap = isMemory(op) ? leftOut(block, op) : null;
  const tabs = [
    ...(touched?.accesses.some(isKnown) ? [{ name: "map", title: "Access map" }] : []),
    ...(dot ? [{ name: "matmul", title: "Matrix product" }] : []),
  ];
  const tab = tabs.find(({ name }) => name === chosen("tab"))?.name ?? tabs[0]?.name;
  return (
    <section id="chosen-op">
      <div class="section-head">
        <h2>
          <code>{op.op}</code> {op.index}
          {op.buffer ? " of " : ""}
          {op.buffer ? <code>{shortText(op.buffer, 80)}</code> : null}
        </h2>
      </div>
      <Split
        wide="right"
        left={<OpFigures op={op} warps={hasWarps(call)} />}
        right={<OpCode variant={call.variant} op={op} />}
      />
      {gap === null ? null : <Note>{gap}</Note>}
      {names.length > 1 ? (
        <div class="toolbar">
          <AddressChoice
            label="Of"
            name="arg"
            options={names.map((each) => [each, shortText(each, 60)])}
            also={{ ...AS_IT_IS, el: null }}
          />
        </div>
      ) : null}
      {tab === undefined ? null : (
        <Tabs
          label="Views of the op"
          tabs={tabs}
          chosen={tab}
          onChoose={(name) => setQuery({ tab: name === tabs[0]?.name ? null : name })}
        >
          {tab === "map" && touched ? <MapPanel {...props} touched={touched} /> : null}
          {tab === "matmul" && dot ? (
            <Matmul call={call} block={block} grid={grid} dot={dot} />
          ) : null}
        </Tabs>
      )}
    </section>
  );
}

/** The lines around the op, in the innermost file that is on the page, and who called that. */
function OpCode({ variant, op }: { variant: number; op: Op }) {
  const stack = page.report.stacks[op.stack ?? -1] ?? [];
  const files = page.report.variants[variant]?.files ?? [];
  const known = stack.findIndex(([path]) =>
    files.some((file) => file.path === path && file.text !== null),
  );
  const at = Math.max(known, 0);
  const frame = stack[at];
  if (!frame) return null;
  const calls = stack.slice(at + 1, at + 4).map(([path, line]) => formatPlace(path, line));
  return (
    <div id="code-peek">
      <SourceExcerpt variant={variant} frame={frame}>
        {calls.length ? `called from ${shortText(calls.join(", "))}` : ""}
      </SourceExcerpt>
    </div>
  );
}

/** Which of an op's accesses cannot be shown, and why; null: none. */
function leftOut(block: CallOps, op: Op): string | null {
  const described = describedLanes(block, op.index);
  if (op.elements === null || op.masked_off === null) {
    const some = described ? ": only some of its accesses are known" : "";
    return `Its addresses or its mask depend on data that was not recorded${some}.`;
  }
  const active = op.elements - op.masked_off;
  const of = (many: number): string =>
    `${formatCount(many)} of its ${formatCount(active)} accesses`;
  const vague = block.accesses.filter((access) => access.op === op.index && !isKnown(access));
  if (vague.length) {
    const many = vague.reduce((sum, each) => sum + (each.active ?? 0), 0);
    const first = Math.min(...vague.map((each) => each.first ?? 0));
    const last = Math.max(...vague.map((each) => each.last ?? 0));
    return `${of(many)} are too irregular to be kept one by one: they are within bytes ${formatCount(first)} to ${formatCount(last)} of the tensor, and not on the map.`;
  }
  if (described >= active) return null;
  return `${of(described)} are shown: the others depend on data that was not recorded, or are too irregular to be kept.`;
}

const SECTORS =
  "Requested bytes divided by the bytes of the 32-byte sectors that contain them; a model by the compiled layout, or by the order of lanes";

function OpFigures({ op, warps }: { op: Op; warps: boolean }) {
  const { bytes, unique_bytes: distinct } = op;
  const again = bytes !== null && distinct ? Math.round((100 * bytes) / distinct) / 100 : 1;
  const times = again === 1 ? null : `derived, each ${formatCount(again)} times`;
  const off = `${formatCount(op.masked_off)} lanes`;
  return (
    <Figures
      id="op-figures"
      of={[
        derived("executions", op.executions, "count", "Programs times iterations"),
        derived("lanes", op.elements),
        !isMemory(op) && derived("FLOPs", op.flops, "flops"),
        isMemory(op) && [
          derived("masked off", maskedShare(op), "share", off),
          derived("bytes", bytes, "bytes"),
          derived("distinct bytes", distinct, "bytes", "", times),
        ],
        isMemory(op) &&
          warps &&
          derived("sector efficiency", sectorEfficiency(op), "share", SECTORS),
      ]}
    />
  );
}
