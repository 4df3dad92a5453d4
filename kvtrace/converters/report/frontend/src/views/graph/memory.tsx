// Live memory over the order of ops.

import { useMemo, useState } from "preact/hooks";
import { setQuery } from "../../app/router";
import { formatBytes, formatCount } from "../../data/format";
import type { Page } from "../../data/page";
import { WithTable } from "../../parts/beside";
import { themeColours } from "../../parts/colours";
import { Curve } from "../../parts/curve";
import { Table } from "../../parts/table";
import { type GraphColumns, opTitle, placeText, typeText } from "./blocks";

/** Ops in the table beside the curve. */
const MOST = 1000;

export function LiveMemory(props: { page: Page; graph: GraphColumns; chosen: number | null }) {
  const { page, graph, chosen } = props;
  const peak = graph.totals.peak_op;
  const [pointed, setPointed] = useState<number | null>(null);
  const x = useMemo(() => graph.live.map((_, op) => op), [graph]);
  const series = useMemo(() => {
    const only = (op: number | null): (number | null)[] =>
      graph.live.map((live, each) => (each === op ? live : null));
    return [
      { label: "live", values: graph.live, kind: "steps" as const },
      { label: "peak", values: only(peak), kind: "points" as const, colour: themeColours().error },
      {
        label: "chosen op",
        values: only(chosen),
        kind: "points" as const,
        colour: themeColours().fine,
      },
      // not to be seen: each op can be pointed at
      { label: "op", values: graph.live, kind: "points" as const, colour: "transparent" },
    ];
  }, [graph, peak, chosen]);
  const rows = useMemo(
    () => [...x].sort((a, b) => (graph.live[b] ?? 0) - (graph.live[a] ?? 0)).slice(0, MOST),
    [graph],
  );
  const shown = pointed ?? chosen ?? peak;
  return (
    <>
      <WithTable
        name="live memory"
        canvas={
          <div id="live">
            <Curve
              label={`Live memory over ${formatCount(graph.live.length)} ops; the most is ${formatBytes(graph.totals.peak_live_bytes)}`}
              x={x}
              series={series}
              xLabel="op, in the order of the trace"
              yLabel="live bytes (derived)"
              formatY={formatBytes}
              formatX={(value) => (Number.isInteger(value) ? `%${value}` : "")}
              height={220}
              onPoint={setPointed}
              onChoose={(op) => setQuery({ op })}
            />
          </div>
        }
        table={() => (
          <Table
            caption="Ops by the memory that is live while they run"
            rows={rows}
            columns={[
              { label: "Op", cell: (op) => opTitle(graph, op), key: (op) => op },
              {
                label: "Result",
                cell: (op) => <code>{typeText(graph, op)}</code>,
                key: (op) => typeText(graph, op),
              },
              {
                label: "live",
                source: "derived",
                number: true,
                cell: (op) => formatBytes(graph.live[op]),
                key: (op) => graph.live[op] ?? null,
              },
              {
                label: "Source",
                cell: (op) => placeText(page, graph, op),
                key: (op) => placeText(page, graph, op),
              },
            ]}
            chosen={chosen}
            onChoose={(op) => setQuery({ op })}
            height={10}
          />
        )}
      />
      {shown === null ? null : (
        <p class="small" id="live-op">
          <button type="button" class="quiet small" onClick={() => setQuery({ op: shown })}>
            {opTitle(graph, shown)}
          </button>
          : {formatBytes(graph.live[shown])} live{" "}
          <span class="muted">
            (derived{shown === peak ? "; the most" : ""}), {placeText(page, graph, shown)}
          </span>
        </p>
      )}
    </>
  );
}
