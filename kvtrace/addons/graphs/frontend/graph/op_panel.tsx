// One op: what it is, what it reads and who reads it, its figures and its lines.

import { setQuery } from "@report/app/router";
import { formatBytes, formatCount, formatFlops, formatPlace, shortText } from "@report/data/format";
import { Value } from "@report/parts/figure";
import { Facts } from "@report/parts/text";
import { framesOf, opTitle, typeText } from "./blocks";
import type { GraphColumns } from "../model";

interface OpPanelProps {
  readonly graph: GraphColumns;
  readonly users: readonly (readonly number[])[];
  readonly op: number | null;
}

const MOST_LINKS = 12;

export function OpPanel(props: OpPanelProps) {
  const { graph, op } = props;
  if (op === null || op >= graph.opcode.length) {
    return (
      <div class="panel" id="op">
        <p class="muted">No op is chosen. Click one in the drawing, or in the table below.</p>
      </div>
    );
  }
  const names = graph.names[op];
  const attributes = Object.entries(graph.attributes[op] ?? {});
  return (
    <div class="panel" id="op" data-op={op}>
      <h3 class="graph-title">{opTitle(graph, op)}</h3>
      <Facts
        entries={[
          ["result", <code>{typeText(graph, op)}</code>],
          ["input", names?.input && shortText(names.input, 120)],
          ["output", names?.output && shortText(names.output, 120)],
          ["written into", names?.aliases && `${shortText(names.aliases, 120)} (in place)`],
          ["size of result", derived(formatBytes(graph.bytes[op]))],
          [
            "reads, writes",
            derived(`${formatBytes(graph.read[op])}, ${formatBytes(graph.written[op])}`),
          ],
          ["FLOPs", derived(formatFlops(graph.flops[op]))],
          ["live then", derived(formatBytes(graph.live[op]))],
          [
            "reads",
            graph.operands[op]?.length ? (
              <OpLinks graph={graph} ops={graph.operands[op] ?? []} />
            ) : (
              ""
            ),
          ],
          [
            "read by",
            props.users[op]?.length ? (
              <OpLinks graph={graph} ops={props.users[op] ?? []} />
            ) : (
              "nothing"
            ),
          ],
          ...attributes.map(
            ([name, text]) => [shortText(name, 60), <code>{shortText(text, 200)}</code>] as const,
          ),
        ]}
      />
      <Frames {...props} op={op} />
    </div>
  );
}

function derived(text: string) {
  return <Value source="derived">{text}</Value>;
}

function OpLinks({ graph, ops }: { graph: GraphColumns; ops: readonly number[] }) {
  return (
    <span class="graph-links">
      {ops.slice(0, MOST_LINKS).map((op, place) => (
        <button
          key={place}
          type="button"
          class="quiet small"
          title={typeText(graph, op)}
          onClick={() => setQuery({ op })}
        >
          {opTitle(graph, op)}
        </button>
      ))}
      {ops.length > MOST_LINKS ? ` and ${formatCount(ops.length - MOST_LINKS)} more` : null}
    </span>
  );
}

function Frames({ graph, op }: OpPanelProps & { op: number }) {
  const frames = framesOf(graph, op);
  if (!frames.length) return null;
  return (
    <ol class="stack small" aria-label="Where it comes from, the innermost first">
      {frames.map(([file, line, name], depth) => (
        <li key={depth}>
          <button type="button" class="quiet small" onClick={() => setQuery({ file, line })}>
            {shortText(formatPlace(file, line), 80)}
          </button>{" "}
          <span class="muted">{shortText(name ?? "", 80)}</span>
        </li>
      ))}
    </ol>
  );
}
