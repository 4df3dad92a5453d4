// Live memory over the order of ops.

import { useMemo, useState } from "preact/hooks";
import { setQuery } from "@report/app/router";
import { formatBytes, formatCount } from "@report/data/format";
import { WithTable } from "@report/parts/beside";
import { code, figure, words } from "@report/parts/columns";
import { Plot } from "@report/parts/plot";
import { Table } from "@report/parts/table";
import { opTitle, placeText, typeText } from "./blocks";
import type { GraphColumns } from "../model";

/** Ops in the table beside the curve. */
const MOST = 1000;

export function LiveMemory({ graph, chosen }: { graph: GraphColumns; chosen: number | null }) {
  const { peak_op: peak, peak_live_bytes: most } = graph.totals;
  const [pointed, setPointed] = useState<number | null>(null);
  const ops = graph.live.length;
  const rows = useMemo(
    () =>
      [...graph.live.keys()]
        .sort((a, b) => (graph.live[b] ?? 0) - (graph.live[a] ?? 0))
        .slice(0, MOST),
    [graph],
  );
  const opAt = (x: number): number => Math.min(Math.floor(x), ops - 1);
  const shown = pointed ?? chosen ?? peak;
  return (
    <>
      <WithTable
        name="live memory"
        canvas={
          <Plot
            label={`Live memory over ${formatCount(ops)} ops; the most is ${formatBytes(most)}`}
            x={{ label: "op, in the order of the trace", low: 0, high: ops, format: formatCount }}
            y={{
              label: "live bytes (derived)",
              low: 0,
              high: most || 1,
              format: formatBytes,
              binary: true,
            }}
            height={220}
            onPoint={(x) => setPointed(x === null ? null : opAt(x))}
            onChoose={(x) => setQuery({ op: opAt(x) })}
          >
            {(x, y) => (
              <>
                <path
                  d={`M${graph.live.map((live, op) => `${x(op)} ${y(live)}H${x(op + 1)}`).join("L")}`}
                />
                {shown === null ? null : (
                  <circle cx={x(shown + 0.5)} cy={y(graph.live[shown] ?? 0)} r={5} />
                )}
              </>
            )}
          </Plot>
        }
        table={() => (
          <Table<number>
            caption="Ops by the memory that is live while they run"
            rows={rows}
            columns={[
              words("Op", (op) => opTitle(graph, op), { key: (op) => op }),
              code("Result", (op) => typeText(graph, op)),
              figure("live", "derived", (op) => graph.live[op], "bytes"),
              words("Source", (op) => placeText(graph, op)),
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
            (derived{shown === peak ? "; the most" : ""}), {placeText(graph, shown)}
          </span>
        </p>
      )}
    </>
  );
}
