// The chosen op: what it did, where it stands, and its accesses.

import { useMemo } from "preact/hooks";

import { formatCount, shortText } from "../../data/format";
import type { Page } from "../../data/page";
import type { Call } from "../../data/types";
import { Split } from "../../parts/beside";
import { Figures } from "../../parts/figure";
import { Choice } from "../../parts/search";
import { Tabs } from "../../parts/tabs";
import { Note } from "../../parts/text";
import type { CallBlock, Op } from "./blocks";
import { CodePeek } from "./code_peek";
import type { HereFinding } from "./findings";
import { describedLanes, isMemory } from "./grid_work";
import { isKnown } from "./layout";
import { MapPanel } from "./map_panel";
import { Matmul } from "./matmul";
import { maskedShare, sectorEfficiency } from "./ops";
import { tensorsOf, touchedBy } from "./scene";
import { AS_IT_IS, choose, chosen, type Place } from "./state";

interface OpPanelProps {
  readonly page: Page;
  readonly call: Call;
  readonly block: CallBlock;
  readonly grid: Place;
  readonly op: Op;
  readonly findings: readonly HereFinding[];
}

export function OpPanel(props: OpPanelProps) {
  const { page, call, block, grid, op } = props;
  const names = useMemo(() => tensorsOf(block, op.index), [block, op]);
  const name = chosen("arg");
  const touched = useMemo(() => touchedBy(page, call, block, op.index, name), [block, op, name]);
  // the product that it is, or that it loads or stores for
  const dot =
    block.dots.find((each) => each.op === op.index) ??
    block.dots.find((each) => [each.a, each.b, each.c].includes(op.index));
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
        left={<OpFigures op={op} />}
        right={<CodePeek page={page} variant={call.variant} stack={op.stack} />}
      />
      {isMemory(op) ? <Coverage block={block} op={op} /> : null}
      {names.length > 1 ? (
        <div class="toolbar">
          <Choice
            label="Of"
            value={touched?.name ?? ""}
            options={names.map((each) => [each, shortText(each, 60)] as const)}
            onChoose={(value) => choose({ ...AS_IT_IS, arg: value, el: null })}
          />
        </div>
      ) : null}
      {tab === undefined ? null : (
        <Tabs
          label="Views of the op"
          tabs={tabs}
          chosen={tab}
          onChoose={(name) => choose({ tab: name === tabs[0]?.name ? null : name })}
        >
          {tab === "map" && touched ? (
            <MapPanel page={page} grid={grid} touched={touched} findings={props.findings} />
          ) : null}
          {tab === "matmul" && dot ? (
            <Matmul page={page} call={call} block={block} grid={grid} dot={dot} />
          ) : null}
        </Tabs>
      )}
    </section>
  );
}

/** Says where not all of an op's accesses can be shown. */
function Coverage({ block, op }: { block: CallBlock; op: Op }) {
  const described = describedLanes(block, op.index);
  if (op.elements === null || op.masked_off === null) {
    return (
      <Note>
        Its addresses or its mask depend on data that was not recorded
        {described ? ": only some of its accesses are known" : ""}.
      </Note>
    );
  }
  const active = op.elements - op.masked_off;
  const vague = block.accesses.filter((access) => access.op === op.index && !isKnown(access));
  if (vague.length) {
    const many = vague.reduce((sum, each) => sum + (each.active ?? 0), 0);
    const first = Math.min(...vague.map((each) => each.first ?? 0));
    const last = Math.max(...vague.map((each) => each.last ?? 0));
    return (
      <Note>
        {formatCount(many)} of its {formatCount(active)} accesses are too irregular to be kept one
        by one: they are within bytes {formatCount(first)} to {formatCount(last)} of the tensor, and
        not on the map.
      </Note>
    );
  }
  if (described >= active) return null;
  return (
    <Note>
      {formatCount(described)} of its {formatCount(active)} accesses are shown: the others depend on
      data that was not recorded, or are too irregular to be kept.
    </Note>
  );
}

function OpFigures({ op }: { op: Op }) {
  const { bytes, unique_bytes: distinct } = op;
  const again = bytes !== null && distinct ? Math.round((100 * bytes) / distinct) / 100 : 1;
  return (
    <Figures
      id="op-figures"
      of={[
        { name: "executions", value: op.executions, how: "Programs times iterations" },
        { name: "lanes", value: op.elements },
        !isMemory(op) && { name: "FLOPs", value: op.flops, as: "flops" },
        isMemory(op) && [
          {
            name: "masked off",
            value: maskedShare(op),
            as: "share",
            how: `${formatCount(op.masked_off)} lanes`,
          },
          { name: "bytes", value: bytes, as: "bytes" },
          {
            name: "distinct bytes",
            value: distinct,
            as: "bytes",
            detail: again === 1 ? "derived" : `derived, each ${formatCount(again)} times`,
          },
          {
            name: "sector efficiency",
            value: sectorEfficiency(op),
            as: "share",
            how: "Bytes asked for, of those in the 32-byte sectors that they lie in; a model of the compiled layout, or of the order of lanes",
          },
        ],
      ]}
    />
  );
}
