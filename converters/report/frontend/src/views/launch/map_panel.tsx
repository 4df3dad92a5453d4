// The access map of an op's tensor with all that belongs to it: figures, the way it is looked at,
// the chosen element, and the same as a table.

import type { JSX } from "preact";

import { shortText } from "../../data/format";
import { WithTable } from "../../parts/beside";
import { Choice } from "../../parts/search";
import { Note } from "../../parts/text";
import { placeText } from "./describe";
import { download } from "./download";
import { ElementPanel } from "./element_panel";
import { ElementTable } from "./element_table";
import { LookEditor, SliceBar, chosenLayout } from "./look_editor";
import { AccessMap } from "./map";
import { CountFigures, Legend } from "./map_legend";
import type { Scene } from "./map_paint";
import { IterationSlider } from "./programs";
import { RegionTable } from "./region_table";
import { SideBySide } from "./side_by_side";
import { Solid } from "./solid";
import { choose } from "./state";
import { SubsetLegend } from "./subset_legend";
import { type SceneAsked, useScene } from "./use_scene";
import { npyFile } from "./values";

export function MapPanel(props: SceneAsked): JSX.Element {
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
          layout === "solid" && counts.dense ? (
            <Solid scene={scene} label={label} height={360} />
          ) : layout === "side" ? (
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
      {layout === "solid" && !counts.dense ? (
        <Note>There are too many elements for a solid; its slices can be shown.</Note>
      ) : null}
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
