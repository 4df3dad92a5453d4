// The source that was traced, each line with what its ops come to, those called from there too.

import { useCallback, useMemo } from "preact/hooks";

import type { Page } from "../../data/page";
import { OpSource } from "../../parts/op_source";
import { framesOf, type GraphColumns } from "./blocks";
import { type Measure, total } from "./measures";

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
  const frames = useCallback((op: number) => framesOf(page, graph, op), [page, graph]);
  const heat = useMemo(
    () => ({
      title: measure.title,
      shown: measure.shown,
      total: (ops: readonly number[]) => total(measure, graph, ops),
      said: () => [", with those called from here", measure.how] as const,
    }),
    [measure, graph],
  );
  return (
    <OpSource
      {...props}
      label="Source that was traced"
      ops={ops}
      framesOf={frames}
      measure={heat}
    />
  );
}
