// Slices of a tensor beside each other.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";

import { AccessMap } from "./map";
import type { Scene } from "./map_paint";

/** Slices shown at a time. */
const MOST_SIDE = 12;

export function SideBySide(props: {
  scene: Scene;
  slices: number;
  label: string;
  describe(offset: number): string;
  onElement(offset: number | null): void;
}): JSX.Element {
  const { scene, slices: size } = props;
  const from = size <= MOST_SIDE ? 0 : Math.min(scene.slice, size - MOST_SIDE);
  const scenes = useMemo(
    () =>
      Array.from({ length: Math.min(size, MOST_SIDE) }, (_, place) => ({
        ...scene,
        slice: from + place,
      })),
    [scene, from, size],
  );
  return (
    <div class="launch-side" id="side-by-side">
      {scenes.map((each) => (
        <figure key={each.slice} data-slice={each.slice}>
          <figcaption class="small muted">
            slice {each.slice}
            {each.slice >= (scene.look.slices?.size ?? 1) ? ", past the end" : ""}
          </figcaption>
          <AccessMap
            scene={each}
            label={`${props.label}, slice ${each.slice}`}
            height={140}
            describe={props.describe}
            onElement={props.onElement}
          />
        </figure>
      ))}
    </div>
  );
}
