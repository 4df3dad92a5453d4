// The kernel's source with the work of each line, and the lines that break a rule.

import { useCallback, useMemo } from "preact/hooks";
import { setQuery } from "../../app/router";
import {
  formatBytes,
  formatFlops,
  formatNanoseconds,
  formatShare,
  plural,
} from "../../data/format";
import type { Page } from "../../data/page";
import type { OpWork, PlacedFinding, Stack } from "../../data/types";
import { type Heat, type LineMark } from "../../parts/code";
import { OpSource } from "../../parts/op_source";
import { Choice } from "../../parts/search";
import { sourceText } from "../../parts/text";

interface Measure {
  readonly name: string;
  readonly title: string;
  value(op: OpWork): number | null;
  shown(value: number): string;
}

const MEASURES: readonly Measure[] = [
  { name: "time", title: "time at best", value: (op) => op.best_ns, shown: formatNanoseconds },
  {
    name: "device",
    title: "bytes of device memory",
    value: (op) => op.device_bytes,
    shown: formatBytes,
  },
  { name: "chip", title: "bytes on chip", value: (op) => op.chip_bytes, shown: formatBytes },
  { name: "flops", title: "FLOPs", value: (op) => op.flops, shown: formatFlops },
];

interface SourceProps {
  readonly page: Page;
  readonly call: number;
  readonly ops: readonly OpWork[];
  readonly findings: readonly PlacedFinding[];
  readonly chosen: OpWork | null;
  readonly query: URLSearchParams;
}

export function OnChipSource({ ops, findings, query, ...props }: SourceProps) {
  const { page } = props;
  const known = MEASURES.filter((each) => ops.some((op) => each.value(op)));
  const measure = known.find(({ name }) => name === query.get("heat")) ?? known[0];
  const heatOf = useMemo(() => (measure ? heatBy(measure, ops) : null), [measure, ops]);
  const frames = useCallback((op: OpWork) => stackOf(page, op.stack), [page]);
  const marks = useCallback((path: string) => marksOf(page, findings, path), [page, findings]);
  return (
    <OpSource
      page={page}
      variant={page.report.calls[props.call]?.variant ?? -1}
      label="Source of the kernel"
      ops={ops}
      chosen={props.chosen}
      file={query.get("file")}
      line={Number(query.get("line")) || null}
      marks={marks}
      framesOf={frames}
      innermost
      heatOf={heatOf}
      controls={
        measure ? (
          <Choice
            label="Heat"
            value={measure.name}
            options={known.map(({ name, title }) => [name, `${title} (derived)`])}
            onChoose={(name) => setQuery({ heat: name })}
          />
        ) : null
      }
    />
  );
}

function stackOf(page: Page, stack: number | null): Stack {
  return page.report.stacks[stack ?? -1] ?? [];
}

/** Whether an op stands on a line of a file. */
export function standsOn(page: Page, op: OpWork, line: number, file: string | null): boolean {
  return stackOf(page, op.stack).some(
    (frame) => frame[1] === line && (file === null || frame[0] === file),
  );
}

function heatBy(measure: Measure, all: readonly OpWork[]) {
  const sum = (ops: readonly OpWork[]): number =>
    ops.reduce((whole, op) => whole + (measure.value(op) ?? 0), 0);
  const whole = sum(all);
  return (ops: readonly OpWork[]): Heat => {
    const engines = [...new Set(ops.map(({ engine }) => engine ?? "?"))].join(", ");
    const title = `${measure.title} of ${plural(ops.length, "op")} on ${engines}: ${formatShare(sum(ops), whole)}. ${sourceText("derived")}`;
    if (ops.every((op) => !measure.value(op))) return { share: null, text: "", title };
    return { share: whole ? sum(ops) / whole : 0, text: measure.shown(sum(ops)), title };
  };
}

function marksOf(
  page: Page,
  findings: readonly PlacedFinding[],
  path: string,
): ReadonlyMap<number, LineMark> {
  const marks = new Map<number, LineMark>();
  for (const { stack, found } of findings) {
    const [frame] = stackOf(page, stack);
    const [file, line] = frame ?? [found.file, found.line];
    if (file === path && line !== null)
      marks.set(line, found.verdict === "violation" ? "violation" : "unknown");
  }
  return marks;
}
