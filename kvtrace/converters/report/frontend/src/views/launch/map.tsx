// The access map: one slice of a tensor, to be zoomed, moved and pointed at.

import { useCallback, useEffect, useState } from "preact/hooks";
import type { Drawing } from "../../parts/canvas";
import { Movable, type Seen } from "../../parts/movable";
import type { Scene } from "./map_colours";
import { paintMap, shownRows, wholeMap } from "./map_paint";
import { offsetAt, placeOf } from "./tensor";

interface MapProps {
  readonly scene: Scene;
  readonly label: string;
  readonly height: number;
  readonly id?: string;
  /** What is said of a place, for the tooltip. */
  describe(offset: number): string;
  onElement(offset: number | null): void;
}

export function AccessMap(props: MapProps) {
  const { scene, height } = props;
  const { look, slice, element } = scene;
  const [width, setWidth] = useState(1);
  const [seen, setSeen] = useState<Seen | null>(null);
  const [sampled, setSampled] = useState(false);

  // another tensor or another way of looking at it is seen whole
  useEffect(() => setSeen(null), [look]);

  const draw = useCallback(
    (drawing: Drawing) => {
      setWidth(drawing.width);
      setSampled(paintMap(drawing, scene, seen ?? wholeMap(scene, drawing.width, height)));
    },
    [scene, seen, height],
  );

  /** The element at a place; null beside the tensor. */
  function offsetUnder(column: number, row: number): number | null {
    const [first, end] = shownRows(scene);
    const inside = row >= first && row < end && column >= 0 && column < look.columns.size;
    return inside ? offsetAt(look, Math.floor(row), Math.floor(column), slice) : null;
  }

  /** Choose the element beside the chosen one. */
  function step(right: number, below: number): void {
    const [row, column] = (element === null ? null : placeOf(look, element)) ?? [-below, -right];
    const next = offsetUnder(column + right, row + below);
    if (next !== null) props.onElement(next);
  }

  return (
    <div id={props.id}>
      <Movable
        label={`${props.label}. Arrow keys choose an element, with Shift they move the map; plus, minus and 0 zoom.`}
        height={height}
        draw={draw}
        seen={seen ?? wholeMap(scene, width, height)}
        onSee={setSeen}
        limits={[1e-6, 96]}
        describe={(x, y) => {
          const offset = offsetUnder(x, y);
          return offset === null ? null : props.describe(offset);
        }}
        onChoose={(x, y) => props.onElement(offsetUnder(x, y))}
        onStep={step}
        keys={{ Escape: () => props.onElement(null) }}
      />
      {sampled ? (
        <p class="small muted">Some regions were worked out from a sample of their rows.</p>
      ) : null}
    </div>
  );
}
