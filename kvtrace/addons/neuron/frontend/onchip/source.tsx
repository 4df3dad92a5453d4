// Source view of a kernel: the work of each line, and the lines that violate a rule.

import { useCallback } from "preact/hooks";
import { chosen, chosenNumber } from "@report/app/router";
import { formatBytes, formatFlops } from "@report/data/format";
import { page } from "@report/data/page";
import type { PlacedFinding, Stack } from "@report/data/types";
import type { OpWork } from "../model";
import { markedFindings, marksOf } from "@report/parts/finding_marks";
import { type OpMeasure, OpSource } from "@report/parts/op_source";
import { AddressChoice } from "@report/parts/search";

interface Measure extends OpMeasure<OpWork> {
  readonly name: string;
}

function measureOf(
  name: string,
  title: string,
  field: "device_bytes" | "chip_bytes" | "flops",
  shown: (value: number) => string,
): Measure {
  return {
    name,
    title,
    shown,
    total: (ops) => ops.reduce((whole, op) => whole + op[field], 0),
    said: (ops) => [` on ${[...new Set(ops.map(({ engine }) => engine ?? "?"))].join(", ")}`],
  };
}

const MEASURES: readonly Measure[] = [
  measureOf("device", "bytes of device memory", "device_bytes", formatBytes),
  measureOf("chip", "bytes on chip", "chip_bytes", formatBytes),
  measureOf("flops", "FLOPs", "flops", formatFlops),
];

interface SourceProps {
  readonly call: number;
  readonly ops: readonly OpWork[];
  readonly findings: readonly PlacedFinding[];
  readonly chosen: OpWork | null;
}

export function OnChipSource({ ops, findings, ...props }: SourceProps) {
  const available = MEASURES.filter((candidate) => candidate.total(ops) > 0);
  const measure = available.find(({ name }) => name === chosen("heat")) ?? available[0];
  const frames = useCallback((op: OpWork) => stackOf(op.stack), []);
  const marks = useCallback(
    (path: string) => marksOf(markedFindings(findings, []), path),
    [findings],
  );
  return (
    <OpSource
      variant={page.report.calls[props.call]?.variant ?? -1}
      label="Source of the kernel"
      ops={ops}
      chosen={props.chosen}
      file={chosen("file")}
      line={chosenNumber("line")}
      marks={marks}
      framesOf={frames}
      innermost
      measure={measure ?? null}
      controls={
        measure ? (
          <AddressChoice
            label="Heat"
            name="heat"
            options={available.map(({ name, title }) => [name, `${title} (derived)`])}
          />
        ) : null
      }
    />
  );
}

function stackOf(stack: number | null): Stack {
  return page.report.stacks[stack ?? -1] ?? [];
}

/** Returns whether an op's stack has a line of a file; null stands for any file. */
export function standsOn(op: OpWork, line: number, file: string | null): boolean {
  return stackOf(op.stack).some(
    (frame) => frame[1] === line && (file === null || frame[0] === file),
  );
}
