// A three-dimensional tensor as a solid of boxes, turned with the mouse or the arrow keys.

import type { JSX } from "preact";
import { useCallback, useMemo, useRef } from "preact/hooks";

import { Canvas, type Drawing } from "../../parts/canvas";
import { heatColour } from "../../parts/colours";
import { binsOf } from "./counts";
import { accessHeat } from "./map_colours";
import type { Scene } from "./map_paint";
import { choose, chosenNumber } from "./state";
import { offsetAt } from "./tensor";

/** Boxes along an axis; larger tensors put several elements into one. */
const MOST = 20;
const STEP = 5;

type Point = readonly [x: number, y: number, z: number];

interface Boxes {
  /** How many columns, rows and slices of boxes. */
  readonly sizes: Point;
  /** Share of the hottest for each box that is drawn; slices outermost, columns innermost. */
  readonly heat: Float64Array;
}

export function Solid(props: { scene: Scene; label: string; height: number }): JSX.Element {
  const { scene } = props;
  const turn = chosenNumber("turn") ?? 30;
  const tilt = chosenNumber("tilt") ?? 25;
  const drag = useRef<{ x: number; y: number; turn: number; tilt: number } | null>(null);
  const boxes = useMemo(() => boxesOf(scene), [scene]);
  const draw = useCallback(
    (drawing: Drawing) => paintSolid(drawing, boxes, turn, tilt),
    [boxes, turn, tilt],
  );
  const face = (sideways: number, upwards: number): void =>
    choose({
      turn: (Math.round(sideways) + 720) % 360,
      tilt: Math.min(Math.max(Math.round(upwards), 0), 90),
    });
  const keys: Readonly<Record<string, readonly [number, number]>> = {
    ArrowLeft: [turn - STEP, tilt],
    ArrowRight: [turn + STEP, tilt],
    ArrowUp: [turn, tilt + STEP],
    ArrowDown: [turn, tilt - STEP],
    "0": [30, 25],
  };
  return (
    <div class="canvas-box launch-solid">
      <Canvas
        id="solid"
        label={`${props.label}, as a solid. Arrow keys turn it, 0 turns it back.`}
        height={props.height}
        draw={draw}
        tabIndex={0}
        data-turn={turn}
        data-tilt={tilt}
        onKeyDown={(event) => {
          const to = keys[event.key];
          if (!to || event.ctrlKey || event.metaKey || event.altKey) return;
          event.preventDefault();
          event.stopPropagation();
          face(to[0], to[1]);
        }}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          drag.current = { x: event.clientX, y: event.clientY, turn, tilt };
        }}
        onPointerMove={(event) => {
          const from = drag.current;
          if (from)
            face(
              from.turn + (event.clientX - from.x) / 2,
              from.tilt + (event.clientY - from.y) / 2,
            );
        }}
        onPointerUp={() => {
          drag.current = null;
        }}
      />
    </div>
  );
}

function boxesOf(scene: Scene): Boxes {
  const { look, counts, values } = scene;
  const [columns, rows, slices] = [look.columns.size, look.rows.size, look.slices?.size ?? 1];
  const sizes = [Math.min(columns, MOST), Math.min(rows, MOST), Math.min(slices, MOST)] as const;
  const [across, down, deep] = sizes;
  const heat = new Float64Array(across * down * deep);
  for (let slice = 0; slice < slices; slice += 1) {
    const bins = binsOf(counts, look, {
      slice,
      rows: [0, rows],
      columns: [0, columns],
      down,
      across,
    });
    const first = Math.floor((slice * deep) / slices) * across * down;
    bins.counts.forEach((count, bin) => {
      heat[first + bin] = (heat[first + bin] as number) + count;
    });
  }
  const byValue = values !== null && scene.colour === "value";
  const most = heat.reduce((top, count) => Math.max(top, count), 0) || 1;
  const perBox = (columns * rows * slices) / (across * down * deep);
  const [least, range] = [values?.min ?? 0, (values?.max ?? 0) - (values?.min ?? 0) || 1];
  heat.forEach((count, box) => {
    if (count === 0) return;
    const [x, y, z] = [
      box % across,
      Math.floor(box / across) % down,
      Math.floor(box / (across * down)),
    ];
    const middle = (place: number, of: number, size: number): number =>
      Math.floor(((place + 0.5) * size) / of);
    const at = offsetAt(
      look,
      middle(y, down, rows),
      middle(x, across, columns),
      middle(z, deep, slices),
    );
    const value = byValue ? values.at(at * scene.unit) : null;
    heat[box] = byValue
      ? value === null
        ? 0.01
        : 0.05 + (0.95 * (value - least)) / range
      : accessHeat(count / perBox, most / perBox);
  });
  return { sizes, heat };
}

function paintSolid(
  { context, width, height, colours }: Drawing,
  boxes: Boxes,
  turn: number,
  tilt: number,
): void {
  context.fillStyle = colours.back;
  context.fillRect(0, 0, width, height);
  const [across, down, deep] = boxes.sizes;
  const [a, b] = [(turn * Math.PI) / 180, (tilt * Math.PI) / 180];
  const scale = (0.9 * Math.min(width, height)) / Math.hypot(across, down, deep);
  // columns go right, rows down, slices away
  const project = ([x, y, z]: Point): Point => {
    const [cx, cy, cz] = [x - across / 2, y - down / 2, z - deep / 2];
    const sideways = cx * Math.cos(a) + cz * Math.sin(a);
    const away = -cx * Math.sin(a) + cz * Math.cos(a);
    return [
      width / 2 + scale * sideways,
      height / 2 + scale * (cy * Math.cos(b) - away * Math.sin(b)),
      away * Math.cos(b) + cy * Math.sin(b),
    ];
  };
  const faces = FACES.filter(({ normal }) => {
    const [front, back] = [project(normal), project([0, 0, 0])];
    return front[2] - back[2] < -1e-9;
  });
  const order = [...boxes.heat.keys()].filter((box) => (boxes.heat[box] ?? 0) > 0);
  const place = (box: number): Point => [
    box % across,
    Math.floor(box / across) % down,
    Math.floor(box / (across * down)),
  ];
  const depth = new Map(order.map((box) => [box, project(place(box))[2]]));
  order.sort((one, other) => (depth.get(other) ?? 0) - (depth.get(one) ?? 0));
  context.lineWidth = 1;
  outlineAll(context, project, boxes.sizes, colours.mark);
  for (const box of order) {
    const [x, y, z] = place(box);
    for (const { corners, shade } of faces) {
      context.beginPath();
      for (const [dx, dy, dz] of corners) {
        const [px, py] = project([x + dx, y + dy, z + dz]);
        context.lineTo(px, py);
      }
      context.closePath();
      context.fillStyle = heatColour(boxes.heat[box] ?? 0);
      context.fill();
      context.fillStyle = `rgb(0 0 0 / ${shade})`;
      context.fill();
      context.strokeStyle = colours.line;
      context.stroke();
    }
  }
  labelAxes(context, project, boxes.sizes, colours.text);
}

const FACES: readonly { normal: Point; corners: readonly Point[]; shade: number }[] = [
  {
    normal: [0, 0, -1],
    corners: [
      [0, 0, 0],
      [1, 0, 0],
      [1, 1, 0],
      [0, 1, 0],
    ],
    shade: 0,
  },
  {
    normal: [0, 0, 1],
    corners: [
      [0, 0, 1],
      [1, 0, 1],
      [1, 1, 1],
      [0, 1, 1],
    ],
    shade: 0.05,
  },
  {
    normal: [0, -1, 0],
    corners: [
      [0, 0, 0],
      [1, 0, 0],
      [1, 0, 1],
      [0, 0, 1],
    ],
    shade: 0.1,
  },
  {
    normal: [0, 1, 0],
    corners: [
      [0, 1, 0],
      [1, 1, 0],
      [1, 1, 1],
      [0, 1, 1],
    ],
    shade: 0.1,
  },
  {
    normal: [-1, 0, 0],
    corners: [
      [0, 0, 0],
      [0, 1, 0],
      [0, 1, 1],
      [0, 0, 1],
    ],
    shade: 0.2,
  },
  {
    normal: [1, 0, 0],
    corners: [
      [1, 0, 0],
      [1, 1, 0],
      [1, 1, 1],
      [1, 0, 1],
    ],
    shade: 0.2,
  },
];

function outlineAll(
  context: CanvasRenderingContext2D,
  project: (point: Point) => Point,
  [w, h, d]: Point,
  colour: string,
): void {
  context.strokeStyle = colour;
  for (const { corners } of FACES) {
    context.beginPath();
    for (const [x, y, z] of corners) {
      const [px, py] = project([x * w, y * h, z * d]);
      context.lineTo(px, py);
    }
    context.closePath();
    context.stroke();
  }
}

function labelAxes(
  context: CanvasRenderingContext2D,
  project: (point: Point) => Point,
  [w, h, d]: Point,
  colour: string,
): void {
  context.fillStyle = colour;
  const named: readonly (readonly [string, Point])[] = [
    ["columns", [w / 2, h * 1.08, 0]],
    ["rows", [-w * 0.08, h / 2, 0]],
    ["slices", [w * 1.04, h * 1.04, d / 2]],
  ];
  for (const [name, at] of named) {
    const [x, y] = project(at);
    context.fillText(name, x, y);
  }
}
