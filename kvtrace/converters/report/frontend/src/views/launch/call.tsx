// A call: its arguments and grid, its programs and ops, and the chosen op's accesses.

import { useMemo } from "preact/hooks";

import type { Page } from "../../data/page";
import type { Call } from "../../data/types";
import { useBlock } from "../../data/use_block";
import { ArgumentTable } from "../../parts/arguments";
import { Split } from "../../parts/beside";
import { useKeys } from "../../parts/keys";
import { Missing, Note, Section } from "../../parts/text";
import type { CallBlock, Op } from "./blocks";
import { findingsHere, FindingTable, type HereFinding } from "./findings";
import { isMemory } from "./grid_work";
import { OpPanel } from "./op_panel";
import { OpList } from "./ops";
import { Programs } from "./programs";
import { Recorded } from "./recorded";
import { touchedBy } from "./scene";
import {
  choose,
  chosenNumber,
  chosenProgram,
  type Place,
  programNumber,
  programPlace,
} from "./state";

interface CallProps {
  readonly page: Page;
  readonly index: number;
  readonly call: Call;
}

export function CallParts(props: CallProps) {
  const { page, index, call } = props;
  const loaded = useBlock<CallBlock>(page, `call/${index}`);
  const block = loaded.state === "ready" ? loaded.value : null;
  const findings = useMemo(() => findingsHere(page, index, block), [index, block]);
  return (
    <>
      <Section title="Arguments" id="arguments">
        <ArgumentTable page={page} call={call} />
      </Section>
      {findings.length ? (
        <Section title="Findings" id="findings">
          <FindingTable
            page={page}
            findings={findings}
            unitOf={(op) => (block && touchedBy(page, call, block, op)?.unit) ?? null}
          />
        </Section>
      ) : null}
      {loaded.state === "missing" ? (
        <Section title="Ops" id="no-ops">
          <Missing
            what="The ops of this call are not on this page: they were not derived yet, or they did not fit. To derive them:"
            command={`kvtrace replay ${page.report.trace}`}
          />
        </Section>
      ) : null}
      {loaded.state === "failed" ? (
        <Note kind="warning">Its ops cannot be read: {loaded.reason}</Note>
      ) : null}
      {block ? <Inside {...props} block={block} findings={findings} /> : null}
    </>
  );
}

function Inside(props: CallProps & { block: CallBlock; findings: readonly HereFinding[] }) {
  const { page, call, block, findings } = props;
  const grid = useMemo<Place>(
    () => [call.grid[0] ?? 1, call.grid[1] ?? 1, call.grid[2] ?? 1],
    [call],
  );
  const op = chosenOp(block, findings);
  const toProgram = (step: 1 | -1): void => {
    const at = programNumber(chosenProgram(grid), grid) ?? (step > 0 ? -1 : 0);
    const next = Math.min(Math.max(at + step, 0), grid[0] * grid[1] * grid[2] - 1);
    choose({ p: programPlace(next, grid).join(",") });
  };
  const toTrip = (step: 1 | -1): void =>
    choose({ it: Math.max((chosenNumber("it") ?? -1) + step, 0) });
  useKeys({
    "[": () => toProgram(-1),
    "]": () => toProgram(1),
    ",": () => toTrip(-1),
    ".": () => toTrip(1),
    a: () => choose({ p: null, it: null }),
  });
  return (
    <>
      <section id="inside">
        <Split
          wide="right"
          left={
            <>
              <h2>Programs</h2>
              <Programs block={block} grid={grid} findings={findings} op={op?.index ?? null} />
            </>
          }
          right={
            <>
              <h2>Ops</h2>
              <OpList page={page} block={block} variant={call.variant} op={op?.index ?? null} />
            </>
          }
        />
      </section>
      {op ? (
        <OpPanel page={page} call={call} block={block} grid={grid} op={op} findings={findings} />
      ) : null}
      <Section title="Recorded tensors" id="recorded">
        <Recorded page={page} block={block} />
      </Section>
    </>
  );
}

/** The op that the address names, or one with a finding, or the first whose accesses are known. */
function chosenOp({ ops, accesses }: CallBlock, findings: readonly HereFinding[]): Op | null {
  const found = findings.find(({ op }) => op !== null)?.op;
  const named = [chosenNumber("op"), found, accesses[0]?.op].map((index) =>
    ops.find((op) => op.index === index),
  );
  return named.find(Boolean) ?? ops.find(isMemory) ?? ops[0] ?? null;
}
