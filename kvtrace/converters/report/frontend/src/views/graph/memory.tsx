// Live memory over the order of ops.

import { useMemo, useState } from "preact/hooks";

import { setQuery } from "../../app/router";
import { formatBytes, formatCount } from "../../data/format";
import type { Page } from "../../data/page";
import { WithTable } from "../../parts/beside";
import { themeColours } from "../../parts/colours";
import { code, figure, words } from "../../parts/columns";
import type { Series } from "../../parts/curve";
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
    const points = (label: string, colour: string, only?: number | null): Series => ({
      label,
      colour,
      kind: "points",
      values: graph.live.map((live, op) => (only === undefined || op === only ? live : null)),
    });
    return [
      { label: "live", values: graph.live, kind: "steps" } as const,
      points("peak", themeColours().error, peak),
      points("chosen op", themeColours().fine, chosen),
      // not to be seen: each op can be pointed at
      points("op", "transparent"),
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
          <Table<number>
            caption="Ops by the memory that is live while they run"
            rows={rows}
            columns={[
              words("Op", (op) => opTitle(graph, op), { key: (op) => op }),
              code("Result", (op) => typeText(graph, op)),
              figure("live", "derived", (op) => graph.live[op], "bytes"),
              words("Source", (op) => placeText(page, graph, op)),
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
