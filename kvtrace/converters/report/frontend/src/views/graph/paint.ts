// The drawing on its canvas: only what is in view, and only as much of it as can be seen.

import { plural } from "../../data/format";
import { clippedText, type Drawing } from "../../parts/canvas";
import { heatColour, inkOn, rgbOf } from "../../parts/colours";
import { type GraphColumns, nameOf, opcodeOf, typeText } from "./blocks";
import type { Box } from "./layout";
import { type Measure, total } from "./measures";
import {
  boxOfOp,
  type Camera,
  childShown,
  type Detail,
  isOpen,
  rootShown,
  type Shown,
} from "./scene";

export interface Scene {
  readonly graph: GraphColumns;
  readonly root: Box;
  readonly users: readonly (readonly number[])[];
  readonly measure: Measure;
  /** What each group comes to. */
  readonly values: ReadonlyMap<Box, number>;
  /** Ops that a search found; null: nothing is searched for. */
  readonly found: ReadonlySet<number> | null;
  readonly chosen: number | null;
  readonly detail: Detail;
}

export function groupValues(
  root: Box,
  graph: GraphColumns,
  measure: Measure,
): ReadonlyMap<Box, number> {
  const values = new Map<Box, number>();
  const visit = (box: Box): void => {
    if (box.node.op !== null) return;
    const { first, end } = box.node;
    const ops = Array.from({ length: end - first }, (_, at) => first + at);
    values.set(box, total(measure, graph, ops));
    for (const child of box.children) visit(child.box);
  };
  visit(root);
  return values;
}

/** Edges of a group are left out where they could not be told apart. */
const EDGES_FROM = 0.06;

export function paintGraph(drawing: Drawing, scene: Scene, camera: Camera): void {
  const { context, width, height, colours } = drawing;
  context.fillStyle = colours.back;
  context.fillRect(0, 0, width, height);
  const closed: Shown[] = [];
  paintBox(drawing, scene, camera, rootShown(scene.root, camera), closed);
  // one scale for all that is in view: what is equal has one colour
  const most = closed.reduce((largest, { box }) => Math.max(largest, valueOf(scene, box)), 0);
  for (const shown of closed) paintClosed(drawing, scene, shown, most);
  if (scene.chosen !== null) paintNeighbours(drawing, scene, camera, scene.chosen);
}

/** Frames and edges of what is open; boxes that are not open are added to `closed`. */
function paintBox(
  drawing: Drawing,
  scene: Scene,
  camera: Camera,
  shown: Shown,
  closed: Shown[],
): void {
  const { width, height } = drawing;
  if (
    shown.x > width ||
    shown.y > height ||
    shown.x + shown.width < 0 ||
    shown.y + shown.height < 0
  )
    return;
  if (!isOpen(shown.box, camera, scene.detail)) {
    closed.push(shown);
    return;
  }
  paintFrame(drawing, shown, camera.scale);
  if (camera.scale >= EDGES_FROM || shown.box.edges.length < 2000)
    paintEdges(drawing, shown, camera.scale);
  for (const child of shown.box.children)
    paintBox(drawing, scene, camera, childShown(shown, child, camera.scale), closed);
}

function paintFrame({ context, colours, width }: Drawing, shown: Shown, scale: number): void {
  context.fillStyle = shown.box.depth % 2 ? colours.back : colours.raised;
  context.fillRect(shown.x, shown.y, shown.width, shown.height);
  context.strokeStyle = colours.line;
  context.lineWidth = 1;
  context.strokeRect(shown.x + 0.5, shown.y + 0.5, shown.width - 1, shown.height - 1);
  const head = shown.box.head * scale;
  if (head < 11) return;
  const left = Math.max(shown.x, 0) + 6;
  const room = Math.min(shown.x + shown.width, width) - left - 6;
  context.fillStyle = colours.muted;
  context.fillText(
    clippedText(context, shown.box.node.label, room),
    left,
    shown.y + Math.min(head / 2, 12),
  );
}

function paintEdges(
  { context, colours, width, height }: Drawing,
  shown: Shown,
  scale: number,
): void {
  const { box } = shown;
  context.strokeStyle = colours.mark;
  context.lineWidth = scale > 0.5 ? 1.25 : 0.75;
  context.beginPath();
  for (const [from, to] of box.edges) {
    const [source, target] = [box.children[from], box.children[to]];
    if (!source || !target || source.box.node.label === "inputs") continue;
    const [a, b] = [childShown(shown, source, scale), childShown(shown, target, scale)];
    if (Math.max(a.x + a.width, b.x + b.width) < 0 || Math.min(a.x, b.x) > width) continue;
    if (Math.max(a.y + a.height, b.y + b.height) < 0 || Math.min(a.y, b.y) > height) continue;
    trace(context, a, b);
  }
  context.stroke();
}

/** From below one box to above the other; from side to side where that is in another column. */
function trace(context: CanvasRenderingContext2D, from: Shown, to: Shown): void {
  const below = to.y >= from.y + from.height - 1;
  const [x, y] = below
    ? [from.x + from.width / 2, from.y + from.height]
    : [from.x + from.width, from.y + from.height / 2];
  const [endX, endY] = below ? [to.x + to.width / 2, to.y] : [to.x, to.y + to.height / 2];
  context.moveTo(x, y);
  if (below) context.bezierCurveTo(x, (y + endY) / 2, endX, (y + endY) / 2, endX, endY);
  else context.bezierCurveTo((x + endX) / 2, y, (x + endX) / 2, endY, endX, endY);
}

function paintClosed(drawing: Drawing, scene: Scene, shown: Shown, most: number): void {
  const { context, colours } = drawing;
  const { node } = shown.box;
  const fill = heatColour(most ? valueOf(scene, shown.box) / most : 0);
  const hits = hitsIn(scene, node.first, node.end);
  context.globalAlpha = hits === 0 ? 0.25 : 1;
  context.fillStyle = fill;
  context.fillRect(shown.x, shown.y, shown.width, shown.height);
  if (shown.width >= 4) {
    const chosen = scene.chosen !== null && scene.chosen >= node.first && scene.chosen < node.end;
    context.strokeStyle = chosen ? colours.accent : hits ? colours.warning : colours.muted;
    context.lineWidth = chosen ? 3 : hits ? 2 : 1;
    context.strokeRect(shown.x + 0.5, shown.y + 0.5, shown.width - 1, shown.height - 1);
  }
  if (shown.width >= 36 && shown.height >= 13) paintLabel(drawing, scene, shown, fill, hits);
  context.globalAlpha = 1;
}

function paintLabel(
  drawing: Drawing,
  scene: Scene,
  shown: Shown,
  fill: string,
  hits: number | null,
): void {
  const { context } = drawing;
  const lines = labelLines(scene, shown.box, hits).slice(
    0,
    Math.max(1, Math.floor(shown.height / 15)),
  );
  context.fillStyle = inkOn(rgbOf(fill));
  context.textAlign = "center";
  lines.forEach((line, at) => {
    const y = shown.y + shown.height / 2 + (at - (lines.length - 1) / 2) * 14;
    context.fillText(clippedText(context, line, shown.width - 8), shown.x + shown.width / 2, y);
  });
  context.textAlign = "start";
}

function labelLines({ graph, measure, values }: Scene, box: Box, hits: number | null): string[] {
  const { op, label, first, end } = box.node;
  if (op !== null) return [nameOf(graph, op) ?? opcodeOf(graph, op), typeText(graph, op)];
  const value = values.get(box) ?? 0;
  const found =
    hits === null ? plural(end - first, "op") : `${hits} of ${plural(end - first, "op")}`;
  return [label, `${found}, ${measure.shown(value)}`];
}

function valueOf({ graph, measure, values }: Scene, box: Box): number {
  const { op } = box.node;
  return op === null ? (values.get(box) ?? 0) : measure.value(graph, op);
}

/** Of a search's ops those in a range; null where nothing is searched for. */
function hitsIn({ found }: Scene, first: number, end: number): number | null {
  if (!found) return null;
  let count = 0;
  for (let op = first; op < end; op += 1) if (found.has(op)) count += 1;
  return count;
}

/** What the chosen op reads, and what reads it, drawn above everything. */
function paintNeighbours(
  { context, colours }: Drawing,
  scene: Scene,
  camera: Camera,
  op: number,
): void {
  const at = (each: number): Shown => boxOfOp(scene.root, camera, scene.detail, each);
  const own = at(op);
  const lines = (colour: string, pairs: readonly (readonly [Shown, Shown])[]): void => {
    context.strokeStyle = colour;
    context.lineWidth = 2;
    context.beginPath();
    for (const [from, to] of pairs) if (from.box !== to.box) trace(context, from, to);
    context.stroke();
  };
  lines(
    colours.accent,
    (scene.graph.operands[op] ?? []).map((each) => [at(each), own]),
  );
  lines(
    colours.fine,
    (scene.users[op] ?? []).slice(0, 200).map((each) => [own, at(each)]),
  );
}
