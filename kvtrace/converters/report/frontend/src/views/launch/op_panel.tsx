// The chosen op: what it did, where it stands, and its accesses.

import { useMemo } from "preact/hooks";

import { formatBytes, formatCount, formatFlops, shortText, formatPart } from "../../data/format";
import type { Page } from "../../data/page";
import type { Call } from "../../data/types";
import { Split } from "../../parts/beside";
import { Figure, Figures } from "../../parts/figure";
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
import { sectorEfficiency } from "./ops";
import { tensorsOf, touchedBy } from "./scene";
import { type Place, choose, chosen } from "./state";

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
  const dot = block.dots.find((each) => each.op === op.index) ?? dotOf(block, op.index);
  const known = touched?.accesses.filter(isKnown) ?? [];
  const tabs = [
    ...(known.length ? [{ name: "map", title: "Access map" }] : []),
    ...(dot ? [{ name: "matmul", title: "Matrix product" }] : []),
  ];
  const tab = tabs.find(({ name }) => name === chosen("tab"))?.name ?? tabs[0]?.name ?? null;
  return (
    <section id="chosen-op">
      <div class="section-head">
        <h2>
          <code>{op.op}</code> {op.index}
          {op.buffer ? (
            <>
              {" "}
              of <code>{shortText(op.buffer, 80)}</code>
            </>
          ) : null}
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
            onChoose={(value) =>
              choose({ arg: value, el: null, shape: null, axes: null, at: null })
            }
          />
        </div>
      ) : null}
      {tab === null ? null : (
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

/** The product that a load or store belongs to. */
function dotOf(block: CallBlock, op: number): CallBlock["dots"][number] | undefined {
  return block.dots.find((dot) => dot.a === op || dot.b === op || dot.c === op);
}

/** Says where not all of an op's accesses can be shown. */
function Coverage(props: { block: CallBlock; op: Op }) {
  const { block, op } = props;
  const described = describedLanes(block, op.index);
  const vague = block.accesses.filter((access) => access.op === op.index && !isKnown(access));
  if (op.elements === null || op.masked_off === null) {
    return (
      <Note>
        Its addresses or its mask depend on data that was not recorded
        {described ? ": only some of its accesses are known" : ""}.
      </Note>
    );
  }
  const active = op.elements - op.masked_off;
  if (vague.length) {
    const [first, last] = [
      vague.map((each) => each.first ?? 0),
      vague.map((each) => each.last ?? 0),
    ];
    return (
      <Note>
        {formatCount(vague.reduce((sum, each) => sum + (each.active ?? 0), 0))} of its{" "}
        {formatCount(active)} accesses are too irregular to be kept one by one: they are within
        bytes {formatCount(Math.min(...first))} to {formatCount(Math.max(...last))} of the tensor,
        and not on the map.
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

function OpFigures(props: { op: Op }) {
  const { op } = props;
  const efficiency = sectorEfficiency(op);
  const again = op.bytes !== null && op.unique_bytes ? op.bytes / op.unique_bytes : null;
  const share = op.masked_off === null || !op.elements ? null : op.masked_off / op.elements;
  return (
    <Figures id="op-figures">
      <Figure
        name="executions"
        value={op.executions}

        how="Programs times iterations"
      />
      <Figure name="lanes" value={op.elements} />
      {isMemory(op) ? (
        <>
          <Figure
            name="masked off"
            value={share}
            format={formatPart}
            how={`${formatCount(op.masked_off)} lanes`}
          />
          <Figure name="bytes" value={op.bytes} format={formatBytes} />
          <Figure
            name="distinct bytes"
            value={op.unique_bytes}
            format={formatBytes}
            detail={
              again === null || again === 1
                ? "derived"
                : `derived, each ${formatCount(Math.round(again * 100) / 100)} times`
            }
          />
          <Figure
            name="sector efficiency"
            value={efficiency}
            format={formatPart}
            how="Bytes asked for, of those in the 32-byte sectors that they lie in; a model of the compiled layout, or of the order of lanes"
          />
        </>
      ) : (
        <Figure name="FLOPs" value={op.flops} format={formatFlops} />
      )}
    </Figures>
  );
}
