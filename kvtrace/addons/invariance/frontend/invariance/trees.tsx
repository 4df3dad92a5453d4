// The trees of an output at two sizes of the batch, and the source that their nodes come from.

import { useCallback, useMemo } from "preact/hooks";
import { chosen, chosenNumber, setQuery } from "@report/app/router";
import { formatCount, formatPlace, plural, shortText } from "@report/data/format";
import { page } from "@report/data/page";
import type { Stack } from "@report/data/types";
import { useBlock } from "@report/data/use_block";
import { Split } from "@report/parts/beside";
import { OpSource } from "@report/parts/op_source";
import { Choice } from "@report/parts/search";
import { CallLink, Facts, Note, Section } from "@report/parts/text";
import type { InvarianceRow, InvarianceTree, InvarianceTrees } from "../model";
import { MOST_ROWS, nodesOf, rowsOf } from "./layout";
import { kernelOf, variantOf } from "./rows";
import { TreeSide } from "./side";

const NONE = "none";

const RELATIONS: Readonly<Record<string, string>> = {
  same: "All recorded sizes of the batch have one tree.",
  equal:
    "The trees are written differently, and make the elements in the same order at these sizes.",
  reassociated: "The trees differ in the order of sums alone.",
  exact: "The trees differ by roundings: in exact arithmetic they are equal.",
  different: "The trees differ by more than the order of sums.",
};

export function Trees({ row }: { row: InvarianceRow }) {
  const loaded = useBlock<InvarianceTrees>(page, `invariance/${row.number}`);
  if (row.trees === 0)
    return <Note>No launch of it has a tree that could be followed to its end.</Note>;
  if (loaded.state === "missing") return <Note>Its trees are not on the page.</Note>;
  if (loaded.state === "failed") return <Note kind="warning">{loaded.reason}</Note>;
  return loaded.state === "ready" ? <Shown row={row} of={loaded.value} /> : null;
}

/** "1, 3, 9 rows". */
function sizesText({ rows }: InvarianceTree): string {
  const shown = rows.slice(0, 6).map((each) => formatCount(each));
  const more = rows.length > shown.length ? ", …" : "";
  return `${shown.join(", ")}${more} ${rows.length === 1 && rows[0] === 1 ? "row" : "rows"}`;
}

/** Its sizes, and the variant where another tree has the same sizes. */
function titleOf(tree: InvarianceTree, trees: readonly InvarianceTree[]): string {
  const sizes = sizesText(tree);
  const variant = page.report.variants[variantOf(tree)];
  const several = trees.filter((each) => sizesText(each) === sizes).length > 1;
  return several && variant ? `${sizes}, variant ${variant.kernel_id}` : sizes;
}

/** The file that the kernel is defined in. */
function fileOf(tree: InvarianceTree): string | null {
  return page.report.kernels[kernelOf(tree)]?.file ?? null;
}

function Shown({ row, of }: { row: InvarianceRow; of: InvarianceTrees }) {
  const { nodes, trees } = of;
  const left = trees[chosenNumber("left") ?? 0] ?? trees[0];
  const beside = chosen("right");
  const right = beside === NONE ? null : (trees[Number(beside ?? 1)] ?? null);
  const [node, file, line] = [chosenNumber("node"), chosen("file"), chosenNumber("line")];
  const rows = useMemo(
    () => (left ? rowsOf(nodes, left.root, right?.root ?? null) : []),
    [nodes, left, right],
  );
  const ops = useMemo(
    () => [...new Set([left, right].flatMap((each) => (each ? nodesOf(nodes, each.root) : [])))],
    [nodes, left, right],
  );
  const frames = useCallback(
    (op: number): Stack => page.report.stacks[nodes[op]?.stack ?? -1] ?? [],
    [nodes],
  );
  const held = useMemo(
    () => new Set(ops.filter((op) => line !== null && isFrom(frames(op), file, line))),
    [ops, frames, file, line],
  );
  if (!left) return null;
  const options = trees.map((tree, place) => [String(place), titleOf(tree, trees)] as const);
  const sides = [["left", left] as const, ...(right ? [["right", right] as const] : [])];
  const drawn = (
    <Section title="Trees of an element" id="trees">
      <p>
        What an element of a row is made of (derived): below each node are its parts.{" "}
        {row.relation ? RELATIONS[row.relation] : null} i0, i1 … number the elements of the output,
        k0, k1 … what is summed or repeated.
      </p>
      {trees.length > 1 ? (
        <div class="toolbar">
          <Choice
            label="Tree at"
            value={String(trees.indexOf(left))}
            options={options}
            onChoose={(value) => setQuery({ left: value, node: null })}
          />
          <Choice
            label="Beside it"
            value={right ? String(trees.indexOf(right)) : NONE}
            options={[...options, [NONE, "no other"]]}
            onChoose={(value) => setQuery({ right: value, node: null })}
          />
          {right ? <Marks /> : null}
        </div>
      ) : null}
      <div class="trees">
        {sides.map(([side, tree]) => (
          <div class="tree-side" key={side}>
            <h3>{titleOf(tree, trees)}</h3>
            <TreeSide
              label={`Tree at ${titleOf(tree, trees)}. Arrow keys go from node to node`}
              side={side}
              nodes={nodes}
              rows={rows}
              chosen={node}
              held={held}
              file={fileOf(tree)}
            />
          </div>
        ))}
      </div>
      {of.left_out ? <Note>{plural(of.left_out, "further tree")} not drawn.</Note> : null}
      {rows.length >= MOST_ROWS ? (
        <Note>Only the first {formatCount(MOST_ROWS)} rows are drawn.</Note>
      ) : null}
      <NodePanel of={of} node={node} frames={frames} left={left} />
    </Section>
  );
  const source = (
    <Section title="Source" id="code">
      <OpSource
        variant={variantOf(left)}
        label="Source of the kernel"
        ops={ops}
        framesOf={frames}
        measure={null}
        chosen={node}
        file={file ?? fileOf(left)}
        line={line}
      />
    </Section>
  );
  if (!right) return <Split left={drawn} right={source} />;
  return (
    <>
      {drawn}
      {source}
    </>
  );
}

function isFrom(frames: Stack, file: string | null, line: number): boolean {
  return frames.some(([path, own]) => own === line && (file === null || path === file));
}

function Marks() {
  return (
    <p class="small tree-marks">
      <span data-state="here">the trees part here</span>
      <span data-state="inside">further in</span>
      <span data-state="alone">in one tree only</span>
    </p>
  );
}

interface NodePanelProps {
  readonly of: InvarianceTrees;
  readonly node: number | null;
  readonly left: InvarianceTree;
  frames(op: number): Stack;
}

/** The whole of what a node says: rows of a tree may be too narrow for it. */
function NodePanel({ of, node, frames, left }: NodePanelProps) {
  const own = of.nodes[node ?? -1];
  if (!own || node === null) {
    return (
      <p class="muted small" id="node">
        No node is chosen. Click one, or go there with the arrow keys.
      </p>
    );
  }
  const places = frames(node).map(([path, line]) => shortText(formatPlace(path, line), 60));
  return (
    <div class="panel" id="node">
      <Facts
        entries={[
          ["Node", <code>{own.text}</code>],
          ["From", places.length ? places.join(", called at ") : "no line recorded"],
          ["A call with the tree", left.call === null ? null : <CallLink call={left.call} />],
        ]}
      />
    </div>
  );
}
