// The source that was traced, each line with what its ops come to, those called from there too.

import { useCallback, useMemo } from "preact/hooks";
import { formatShare, plural } from "../../data/format";
import type { Page } from "../../data/page";
import type { Heat } from "../../parts/code";
import { OpSource } from "../../parts/op_source";
import { sourceText } from "../../parts/text";
import { framesOf, type GraphColumns } from "./blocks";
import type { Measure } from "./measures";

interface SourceProps {
  readonly page: Page;
  readonly graph: GraphColumns;
  readonly variant: number;
  readonly measure: Measure;
  readonly chosen: number | null;
  readonly file: string | null;
  readonly line: number | null;
}

export function GraphSource({ graph, measure, ...props }: SourceProps) {
  const { page } = props;
  const ops = useMemo(() => [...graph.opcode.keys()], [graph]);
  const heatOf = useMemo(() => heatBy(graph, measure, ops), [graph, measure, ops]);
  const frames = useCallback((op: number) => framesOf(page, graph, op), [page, graph]);
  return (
    <OpSource
      {...props}
      label="Source that was traced"
      ops={ops}
      framesOf={frames}
      heatOf={heatOf}
    />
  );
}

function heatBy(graph: GraphColumns, measure: Measure, all: readonly number[]) {
  const total = (ops: readonly number[]): number =>
    ops.reduce((sum, op) => {
      const value = measure.value(graph, op);
      return measure.adds ? sum + value : Math.max(sum, value);
    }, 0);
  const whole = total(all);
  return (ops: readonly number[]): Heat => {
    const own = total(ops);
    const title = `${measure.title} of ${plural(ops.length, "op")}, with those called from here: ${formatShare(own, whole)}. ${sourceText("derived", measure.how)}`;
    return { share: whole ? own / whole : 0, text: measure.shown(own), title };
  };
}
