// A small line in a table's cell, with dots where something happened.

import type { PointLine as Points } from "../../data/types";

const [WIDTH, HEIGHT, MARGIN] = [240, 32, 3];

export function PointLine({ line: { points, dots, label } }: { line: Points }) {
  return (
    <svg
      class="plot document-line"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={label}
    >
      <title>{label}</title>
      <path d={`M${points.map((point) => placed(point).join(",")).join("L")}`} />
      {dots.map(placed).map(([x, y]) => (
        <circle key={x} r="2.5" cx={x} cy={y} />
      ))}
    </svg>
  );
}

/** The place of a point in the picture; both numbers of a point are from 0 to 1. */
function placed([x, y]: readonly [number, number]): [number, number] {
  return [MARGIN + (WIDTH - 2 * MARGIN) * x, HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * y];
}
