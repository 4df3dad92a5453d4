// The access map of an op's tensor with all that belongs to it: figures, the way it is looked at,
// the chosen element, and the same as a table.

import { useMemo } from "preact/hooks";

import { AccessMap } from "./map";
import type { Scene } from "./map_colours";

import { shortText } from "../../data/format";
import { WithTable } from "../../parts/beside";
import { Choice } from "../../parts/search";
import { placeText } from "./element_panel";
import { download } from "./values";
import { ElementPanel } from "./element_panel";
import { ElementTable } from "./element_table";
import { LookEditor, SliceBar, chosenLayout } from "./look_editor";
import { CountFigures, Legend } from "./map_legend";
import { IterationSlider } from "./programs";
import { RegionTable } from "./element_table";
import { choose } from "./state";
import { SubsetLegend } from "./map_legend";
import { type SceneAsked, useScene } from "./use_scene";
import { npyFile } from "./values";

export function MapPanel(props: SceneAsked) {
  const { grid, touched } = props;
  const { scene, wanted, last, slices } = useScene(props);
  const { look, slice, counts, values, colour, subsets, element } = scene;
  const describe = (offset: number): string => placeText(scene, touched, wanted, grid, offset);
  const layout = chosenLayout(look);
  const label = `Accesses of ${shortText(touched.name, 60)} by ${touched.op.op}`;
  const onElement = (offset: number | null): void => choose({ el: offset });
  const height = look.rows.size <= 2 ? 96 : 340;
  return (
    <div class="launch-panel">
      {last === null ? null : <IterationSlider last={last} />}
      <div class="toolbar">
        <Choice
          label="Colour by"
          value={colour}
          options={[
            ["count", "accesses"],
            ["programs", "programs that share elements"],
            ...(values ? ([["value", "value"]] as const) : []),
          ]}
          onChoose={(value) => choose({ colour: value === "count" ? null : value })}
        />
        {counts.dense ? (
          <button
            type="button"
            id="download-counts"
            onClick={() => downloadCounts(touched.name, look.extent, counts.dense)}
          >
            Download the counts (.npy)
          </button>
        ) : null}
      </div>
      <LookEditor look={look} />
      {look.slices ? <SliceBar look={look} slice={slice} slices={slices} /> : null}
      <WithTable
        name={label}
        canvas={
          layout === "side" ? (
            <SideBySide
              scene={scene}
              slices={slices}
              label={label}
              describe={describe}
              onElement={onElement}
            />
          ) : (
            <AccessMap
              id="access-map"
              scene={scene}
              label={label}
              height={height}
              describe={describe}
              onElement={onElement}
            />
          )
        }
        table={() =>
          counts.dense ? (
            <ElementTable scene={scene} touched={touched} onChoose={onElement} />
          ) : (
            <RegionTable scene={scene} />
          )
        }
      />
      <Legend scene={scene} />
      {colour === "programs" ? <SubsetLegend subsets={subsets} grid={grid} /> : null}
      <CountFigures scene={scene} touched={touched} />
      {element === null ? null : (
        <ElementPanel
          touched={touched}
          grid={grid}
          wanted={wanted}
          offset={element}
          text={describe(element)}
        />
      )}
    </div>
  );
}

/** How often each element is accessed, as NumPy reads it. */
function downloadCounts(name: string, extent: number, dense: Scene["counts"]["dense"]): void {
  if (!dense) return;
  const file = npyFile("<u4", [extent], extent * 4);
  const target = new DataView(file.data.buffer, file.data.byteOffset);
  for (let at = 0; at < extent; at += 1)
    target.setUint32(at * 4, dense.counts[at - dense.low] ?? 0, true);
  download(`${name}-accesses.npy`, file.whole);
}

/** Slices shown at a time. */
const MOST_SIDE = 12;

export function SideBySide(props: {
  scene: Scene;
  slices: number;
  label: string;
  describe(offset: number): string;
  onElement(offset: number | null): void;
}) {
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
