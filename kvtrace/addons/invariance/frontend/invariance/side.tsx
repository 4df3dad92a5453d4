// One tree: a row for each node, with lines to its parts, and the line of source that it is from.

import { useRef } from "preact/hooks";
import { setQuery } from "@report/app/router";
import { page } from "@report/data/page";
import type { InvarianceNode } from "../model";
import { type Cell, indentOf, linesOf, ROW, type Row } from "./layout";

const SIGNS: Readonly<Record<string, string>> = {
  store: "=",
  atomic: "⊕",
  load: "▸",
  op: "ƒ",
  reduction: "Σ",
  scan: "Σ",
  product: "×",
  loop: "↻",
  carried: "↺",
  cut: "…",
  unknown: "?",
};
const MEANINGS: Readonly<Record<string, string>> = {
  inside: "the trees part below",
  here: "the trees part here",
  alone: "in this tree only",
};

interface SideProps {
  readonly label: string;
  readonly side: "left" | "right";
  readonly nodes: readonly InvarianceNode[];
  readonly rows: readonly Row[];
  readonly chosen: number | null;
  /** Nodes that come from the line that is chosen in the source. */
  readonly held: ReadonlySet<number>;
  /** The kernel's file: of a node from a function that it calls, the line of the call is shown. */
  readonly file: string | null;
}

export function TreeSide({ label, side, nodes, rows, chosen, held, file }: SideProps) {
  const list = useRef<HTMLUListElement>(null);
  const cells = rows.flatMap((row, place) => {
    const cell = row[side];
    return cell ? [{ cell, place }] : [];
  });
  const stop = cells.find(({ cell }) => cell.node === chosen)?.place ?? cells[0]?.place;
  const go = (to: number): void => {
    const next = cells[Math.max(0, Math.min(to, cells.length - 1))];
    if (!next) return;
    setQuery({ node: next.cell.node, line: null, file: null });
    list.current?.querySelector<HTMLElement>(`[data-row="${next.place}"]`)?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const focused = Number((event.target as HTMLElement).dataset["row"] ?? -1);
    const at = cells.findIndex(({ place }) => place === focused);
    const above = cells.findIndex(({ place }) => place === cells[at]?.cell.above);
    const below = cells.findIndex(({ cell }) => cell.above === focused);
    const moves: Readonly<Record<string, number>> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      ArrowLeft: above < 0 ? at : above,
      ArrowRight: below < 0 ? at : below,
      Home: 0,
      End: cells.length - 1,
      Enter: at,
      " ": at,
    };
    const to = moves[event.key];
    if (at < 0 || to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    go(to);
  };
  const height = rows.length * ROW;
  return (
    <div class="tree" style={{ blockSize: `${height}px` }}>
      <svg aria-hidden="true" height={height}>
        <path d={linesOf(rows, side)} />
      </svg>
      <ul role="tree" aria-label={label} ref={list} onKeyDown={onKeyDown}>
        {cells.map(({ cell, place }) => (
          <li
            key={place}
            role="treeitem"
            aria-level={cell.depth + 1}
            aria-selected={cell.node === chosen}
            tabIndex={place === stop ? 0 : -1}
            data-row={place}
            data-state={cell.state}
            class={held.has(cell.node) ? "held" : ""}
            style={{
              insetBlockStart: `${place * ROW}px`,
              paddingInlineStart: `${indentOf(cell)}px`,
            }}
            onClick={() => setQuery({ node: cell.node, line: null, file: null })}
          >
            <NodeText cell={cell} node={nodes[cell.node]} file={file} />
          </li>
        ))}
      </ul>
    </div>
  );
}

interface NodeTextProps {
  readonly cell: Cell;
  readonly node: InvarianceNode | undefined;
  readonly file: string | null;
}

function NodeText({ cell, node, file }: NodeTextProps) {
  if (!node) return null;
  const said = `${cell.role ? `${cell.role}: ` : ""}${node.text}`;
  const frames = page.report.stacks[node.stack ?? -1] ?? [];
  const line = (frames.find(([path]) => path === file) ?? frames[0])?.[1] ?? null;
  const meaning = MEANINGS[cell.state];
  return (
    <>
      <span class="tree-text" title={meaning ? `${said} (${meaning})` : said}>
        <span class="tree-sign" aria-hidden="true">
          {SIGNS[node.kind] ?? "·"}
        </span>
        {cell.role ? <span class="muted">{cell.role} </span> : null}
        <code>{node.text}</code>
        {cell.again ? <span class="muted"> as above</span> : null}
        {meaning ? <span class="hidden">, {meaning}</span> : null}
      </span>
      {line === null ? null : <span class="tree-line muted">line {line}</span>}
    </>
  );
}
