// The drawing of a graph: zoomed, panned, pointed at; what it shows stands in the address.

import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";

import { setQuery } from "../../app/router";
import { formatCount, plural } from "../../data/format";
import type { Page } from "../../data/page";
import { type Drawing } from "../../parts/canvas";
import { Movable } from "../../parts/movable";
import { type GraphColumns, opTitle, placeText, typeText, usersOf } from "./blocks";
import { laidOut } from "./layout";
import type { Measure } from "./measures";
import { groupValues, paintGraph, type Scene } from "./paint";
import {
  boxAt,
  type Camera,
  cameraOn,
  type Detail,
  placeOfOp,
  type Shown,
  wholeCamera,
} from "./scene";
import type { Node } from "./tree";

interface GraphDrawingProps {
  readonly page: Page;
  readonly graph: GraphColumns;
  readonly tree: Node;
  readonly measure: Measure;
  readonly found: ReadonlySet<number> | null;
  readonly chosen: number | null;
  readonly detail: Detail;
  /** "x,y,scale" of the address; null: all of it. */
  readonly seen: string | null;
}

const HEIGHT = 520;
/** Milliseconds after a movement until it stands in the address: browsers take only so many. */
const SETTLED = 150;

export function GraphDrawing(props: GraphDrawingProps) {
  const { page, graph, tree, measure, found, chosen, detail } = props;
  const [width, setWidth] = useState(800);
  const root = useMemo(() => laidOut(tree, graph), [tree, graph]);
  const users = useMemo(() => usersOf(graph), [graph]);
  const values = useMemo(() => groupValues(root, graph, measure), [root, graph, measure]);
  const [moved, setMoved] = useState<Camera | null>(null);
  const timer = useRef(0);
  const held = useMemo(() => moved ?? cameraFrom(props.seen), [moved, props.seen]);
  // an address from elsewhere goes before where one has moved to
  useEffect(() => {
    clearTimeout(timer.current);
    setMoved(null);
    return () => clearTimeout(timer.current);
  }, [props.seen]);
  const scene = useMemo<Scene>(
    () => ({ graph, root, users, measure, values, chosen, detail, found }),
    [graph, root, users, measure, values, chosen, detail, found],
  );
  const draw = useCallback(
    (drawing: Drawing) => {
      setWidth(drawing.width);
      paintGraph(drawing, scene, held ?? wholeCamera(root, drawing.width, HEIGHT));
    },
    [scene, held],
  );
  const whole = wholeCamera(root, width, HEIGHT);
  const camera = held ?? whole;

  function see(next: Camera | null, others: Readonly<Record<string, null>> = {}): void {
    clearTimeout(timer.current);
    setMoved(next);
    if (next) {
      const changed = { see: cameraText(next), ...others };
      timer.current = window.setTimeout(() => setQuery(changed), SETTLED);
    } else setQuery({ see: null });
  }

  const under = (x: number, y: number): Shown | null => {
    const shown = boxAt(root, camera, detail, x, y);
    return shown?.box === root ? null : shown;
  };

  /** Bring an op into view, as large as it can be read. */
  function seeOp(op: number): void {
    const { box, x, y } = placeOfOp(root, op);
    const scale = Math.max(camera.scale, 0.8);
    see({
      scale,
      x: x + box.width / 2 - width / scale / 2,
      y: y + box.height / 2 - HEIGHT / scale / 2,
    });
  }

  function showOp(op: number): void {
    setQuery({ op });
    seeOp(op);
  }

  function choose(x: number, y: number): void {
    const shown = under(x, y);
    const op = shown?.box.node.op ?? null;
    if (!shown || op !== null) return setQuery({ op: op === chosen ? null : op });
    // A closed group is gone into; so is an open one, at its label.
    const place = { x: camera.x + shown.x / camera.scale, y: camera.y + shown.y / camera.scale };
    const { width: wide, height } = shown.box;
    see(cameraOn({ ...place, width: wide, height }, width, HEIGHT), { detail: null });
  }

  return (
    <div id="graph-drawing">
      <Movable
        label={`Ops of the graph, ${plural(graph.opcode.length, "op")}, in layers by what they read. Arrow keys move, plus, minus and 0 zoom, brackets go from op to op. The table of ops below says the same.`}
        height={HEIGHT}
        draw={draw}
        seen={{ x: camera.x, y: camera.y, across: camera.scale, down: camera.scale }}
        onSee={(seen) => see(seen && { x: seen.x, y: seen.y, scale: seen.across })}
        limits={[whole.scale * 0.5, 4]}
        describe={(x, y) => {
          const shown = under(x, y);
          return shown && described(page, graph, measure, shown.box.node, values.get(shown.box));
        }}
        onChoose={choose}
        keys={{
          Escape: () => setQuery({ op: null }),
          "]": () => showOp(Math.min((chosen ?? -1) + 1, graph.opcode.length - 1)),
          "[": () => showOp(Math.max((chosen ?? 1) - 1, 0)),
        }}
      />
      <div class="toolbar">
        <button type="button" class="small" onClick={() => see(null)}>
          Whole graph
        </button>
        {chosen === null ? null : (
          <button type="button" class="small" onClick={() => seeOp(chosen)}>
            Go to %{formatCount(chosen)}
          </button>
        )}
        <span class="muted small">
          Colours are relative to the largest box in view. Click: an op, or into a group. Blue: what
          the chosen op reads; green: what reads it. Lines from inputs are drawn for the chosen op
          only.
        </span>
      </div>
    </div>
  );
}

function cameraText({ x, y, scale }: Camera): string {
  return `${Math.round(x)},${Math.round(y)},${scale.toFixed(scale < 0.05 ? 5 : 3)}`;
}

function cameraFrom(text: string | null): Camera | null {
  const [x, y, scale] = (text ?? "").split(",").map(Number);
  if (x === undefined || y === undefined || scale === undefined) return null;
  return Number.isFinite(x) && Number.isFinite(y) && scale > 0 && scale <= 16
    ? { x, y, scale }
    : null;
}

function described(
  page: Page,
  graph: GraphColumns,
  measure: Measure,
  node: Node,
  value: number | undefined,
): string {
  if (node.op === null) {
    return `${node.label}: ${plural(node.end - node.first, "op")}, ${measure.shown(value ?? 0)} (derived)`;
  }
  const { op } = node;
  const figure = `${measure.title} ${measure.shown(measure.value(graph, op))} (derived)`;
  return `${opTitle(graph, op)}: ${typeText(graph, op)}; ${figure}; ${placeText(page, graph, op)}`;
}
