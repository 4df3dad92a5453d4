// The access map of an op's tensor with all that belongs to it: figures, the way it is looked at,
// the chosen element, and the same as a table.

import { useMemo } from "preact/hooks";
import { shortText } from "../../data/format";
import { WithTable } from "../../parts/beside";
import { Choice } from "../../parts/search";
import { ElementPanel, placeText } from "./element_panel";
import { CountTable } from "./element_table";
import { LookEditor, SliceBar } from "./look_editor";
import { AccessMap } from "./map";
import type { Scene } from "./map_colours";
import { CountFigures, Legend, SubsetLegend } from "./map_legend";
import { IterationSlider } from "./programs";
import { choose, chosen } from "./state";
import { type SceneAsked, useScene } from "./use_scene";
import { download, npyFile } from "./values";

export function MapPanel(props: SceneAsked) {
  const { grid, touched } = props;
  const { scene, wanted, last, slices } = useScene(props);
  const { look, slice, counts, values, colour, subsets, element } = scene;
  const map = {
    scene,
    label: `Accesses of ${shortText(touched.name, 60)} by ${touched.op.op}`,
    height: look.rows.size <= 2 ? 96 : 340,
    describe: (offset: number) => placeText(scene, touched, wanted, grid, offset),
    onElement: (offset: number | null) => choose({ el: offset }),
  };
  return (
    <div>
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
          <button type="button" id="download-counts" onClick={() => save(touched.name, scene)}>
            Download the counts (.npy)
          </button>
        ) : null}
      </div>
      <LookEditor look={look} />
      {look.slices ? <SliceBar slice={slice} slices={slices} /> : null}
      <WithTable
        name={map.label}
        canvas={
          look.slices && chosen("lay") === "side" ? (
            <SideBySide {...map} slices={slices} />
          ) : (
            <AccessMap {...map} id="access-map" />
          )
        }
        table={() => <CountTable scene={scene} touched={touched} onChoose={map.onElement} />}
      />
      <Legend scene={scene} />
      {colour === "programs" ? <SubsetLegend subsets={subsets} grid={grid} /> : null}
      <CountFigures scene={scene} touched={touched} />
      {element === null ? null : (
        <ElementPanel touched={touched} grid={grid} offset={element} text={map.describe(element)} />
      )}
    </div>
  );
}

/** How often each element is accessed, as NumPy reads it. */
function save(name: string, { look: { extent }, counts: { dense } }: Scene): void {
  const file = npyFile("<u4", [extent], extent * 4);
  const target = new DataView(file.data.buffer, file.data.byteOffset);
  for (let at = 0; at < extent; at += 1)
    target.setUint32(at * 4, dense?.counts[at - dense.low] ?? 0, true);
  download(`${name}-accesses.npy`, file.whole);
}

/** Slices shown at a time. */
const MOST_SIDE = 12;

type MapProps = Parameters<typeof AccessMap>[0];

function SideBySide({ slices: size, ...map }: MapProps & { slices: number }) {
  const { scene } = map;
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
            {...map}
            scene={each}
            label={`${map.label}, slice ${each.slice}`}
            height={140}
          />
        </figure>
      ))}
    </div>
  );
}
