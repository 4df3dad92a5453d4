// The access map of an op's tensor with all that belongs to it: figures, the way it is looked at,
// the chosen element, and the same as a table.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";

import { formatCount, formatShare, shortText, threeFigures } from "../../data/format";
import type { Page } from "../../data/page";
import type { Call } from "../../data/types";
import { useLoaded } from "../../data/use_block";
import { WithTable } from "../../parts/beside";
import { Figure, Figures } from "../../parts/figure";
import { Choice } from "../../parts/search";
import { Note } from "../../parts/text";
import type { CallBlock } from "./blocks";
import { countAt } from "./counts";
import { download } from "./download";
import { ElementPanel } from "./element_panel";
import { ElementTable } from "./element_table";
import type { HereFinding } from "./findings";
import { lastIteration } from "./layout";
import { LookEditor, chosenLayout } from "./look_editor";
import { AccessMap } from "./map";
import { type Scene, shownSlices } from "./map_paint";
import { IterationSlider } from "./programs";
import { RegionTable } from "./region_table";
import { type Touched, countedIn, hasMask, indexOf, lookOf, marksOf, ownIndex } from "./scene";
import { Solid } from "./solid";
import { type Place, choose, chosen, chosenNumber, chosenProgram, programNumber, programText } from "./state";
import { isInside, placeOf } from "./tensor";
import { touchesOf } from "./touching";
import { npyFile, valuesOf } from "./values";

interface MapPanelProps {
  readonly page: Page;
  readonly call: Call;
  readonly block: CallBlock;
  readonly grid: Place;
  readonly touched: Touched;
  readonly findings: readonly HereFinding[];
}

/** Slices shown side by side at a time. */
const MOST_SIDE = 12;

export function MapPanel(props: MapPanelProps): JSX.Element {
  const { page, grid, touched, findings } = props;
  const wanted = { program: programNumber(chosenProgram(grid), grid), iteration: chosenNumber("it") };
  const last = lastIteration(touched.accesses);
  if (last === null) wanted.iteration = null;
  const asked = { shape: chosen("shape"), axes: chosen("axes"), at: chosen("at") };
  const first = useMemo(() => countedIn(touched, 0, wanted).first, [touched, wanted.program, wanted.iteration]);
  const look = useMemo(() => {
    const plain = lookOf(touched, asked);
    if (plain.axes.length < 4 || asked.at !== null || !Number.isFinite(first)) return plain;
    const index = indexOf(plain.axes, first);
    return lookOf(touched, { ...asked, at: plain.fixed.map((axis) => index[axis.at]).join(",") });
  }, [touched, asked.shape, asked.axes, asked.at, first]);
  const all = useMemo(() => countedIn(touched, look.extent), [touched, look.extent]);
  const some = wanted.program !== null || wanted.iteration !== null;
  const counts = useMemo(
    () => (some ? countedIn(touched, look.extent, wanted) : all),
    [all, wanted.program, wanted.iteration],
  );
  const lanes = useMemo(
    () => (hasMask(touched) ? countedIn(touched, look.extent, wanted, "all") : null),
    [touched, look.extent, wanted.program, wanted.iteration],
  );
  const { recorded } = touched;
  const block = recorded && page.has(`tensor/${recorded.artifact}`) ? `tensor/${recorded.artifact}` : null;
  const storage = useLoaded(block, block === null ? null : () => page.bytes(block));
  const values = useMemo(
    () => (recorded && storage.state === "ready" ? valuesOf(recorded, storage.value) : null),
    [storage.state, recorded],
  );
  const colour = chosen("colour") === "value" && values ? "value" : "count";
  const marks = useMemo(() => marksOf(findings, touched), [findings, touched]);
  const slices = useMemo(() => shownSlices({ look, counts: all, marks }), [look, all, marks]);
  const element = /^-?\d+$/.test(chosen("el") ?? "") ? Number(chosen("el")) : null;
  const sliceAsked = chosenNumber("slice");
  const slice = useMemo(() => {
    const shown = element ?? (Number.isFinite(first) ? first : 0);
    return Math.min(Math.max(sliceAsked ?? placeOf(look, shown)?.[2] ?? 0, 0), slices - 1);
  }, [look, sliceAsked, element, first, slices]);
  const scene = useMemo<Scene>(
    () => ({
      look, slice, counts, context: some ? all : null, lanes, values, colour,
      unit: touched.unit, most: counts.most, marks, element,
    }),
    [look, slice, counts, all, lanes, values, colour, marks, element],
  );

  const describe = (offset: number): string => {
    const bytes = offset * touched.unit;
    const many = countAt(counts, offset);
    const touches = many ? touchesOf(touched.accesses, wanted, bytes, touched.width * touched.unit, 4) : [];
    const programs = [...new Set(touches.map(({ program }) => programText(program, grid)))];
    const mark = marks.find((each) => each.offset === offset);
    const value = values?.at(bytes);
    return [
      isInside(look, offset)
        ? `${shortText(touched.name, 40)}[${ownIndex(touched, offset).join(", ")}]`
        : `outside of ${shortText(touched.name, 40)}`,
      `element ${formatCount(offset)}`,
      `byte ${formatCount(bytes)}`,
      `${formatCount(many)} ${many === 1 ? "access" : "accesses"}`,
      programs.length ? `by ${programs.slice(0, 3).join(" ")}${programs.length > 3 ? " …" : ""}` : "",
      value === null || value === undefined ? "" : `value ${threeFigures(value)}`,
      mark ? shortText(mark.text, 80) : "",
    ].filter(Boolean).join(" · ");
  };

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
          options={[["count", "accesses"], ...(values ? ([["value", "value"]] as const) : [])]}
          onChoose={(value) => choose({ colour: value === "value" ? value : null })}
        />
        {counts.dense ? (
          <button type="button" id="download-counts" onClick={() => downloadCounts(touched.name, look.extent, counts.dense)}>
            Download the counts (.npy)
          </button>
        ) : null}
      </div>
      <LookEditor look={look} slice={slice} slices={slices} />
      <WithTable
        name={label}
        canvas={
          layout === "solid" && counts.dense ? (
            <Solid scene={scene} label={label} height={360} />
          ) : layout === "side" ? (
            <SideBySide scene={scene} slices={slices} label={label} describe={describe} onElement={onElement} />
          ) : (
            <AccessMap id="access-map" scene={scene} label={label} height={height} describe={describe} onElement={onElement} />
          )
        }
        table={() =>
          counts.dense ? <ElementTable scene={scene} touched={touched} onChoose={onElement} /> : <RegionTable scene={scene} />
        }
      />
      <Legend scene={scene} />
      {layout === "solid" && !counts.dense ? <Note>There are too many elements for a solid; its slices can be shown.</Note> : null}
      <CountFigures scene={scene} touched={touched} />
      {element === null ? null : (
        <ElementPanel touched={touched} grid={grid} wanted={wanted} offset={element} text={describe(element)} />
      )}
    </div>
  );
}

function SideBySide(props: {
  scene: Scene;
  slices: number;
  label: string;
  describe(offset: number): string;
  onElement(offset: number | null): void;
}): JSX.Element {
  const { scene, slices: size } = props;
  const from = size <= MOST_SIDE ? 0 : Math.min(scene.slice, size - MOST_SIDE);
  const scenes = useMemo(
    () => Array.from({ length: Math.min(size, MOST_SIDE) }, (_, place) => ({ ...scene, slice: from + place })),
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

function CountFigures(props: { scene: Scene; touched: Touched }): JSX.Element {
  const { counts, look, lanes } = props.scene;
  const masked = lanes ? lanes.total - counts.total : 0;
  const units = props.touched.unit;
  return (
    <Figures id="map-figures">
      <Figure name="accesses" value={counts.total} shown={formatCount(counts.total)} source="derived" how="Elements accessed, each as often as it is, in what is chosen" />
      <Figure
        name="elements touched"
        value={counts.touched}
        shown={formatCount(counts.touched)}
        source="derived"
        how={`Distinct elements of ${units} ${units === 1 ? "byte" : "bytes"}; not counted above 16 M elements`}
        detail={`derived, ${formatShare(counts.touched, look.extent)} of the tensor`}
      />
      <Figure name="most often" value={counts.most} shown={formatCount(counts.most)} source="derived" how="Accesses of the element that is accessed most" />
      <Figure name="masked lanes" value={masked} shown={formatCount(masked)} source="derived" how="Lanes that the mask turns off in the accesses shown; accesses with no lane left are not among them" />
      <Figure name="outside the tensor" value={counts.outside} shown={formatCount(counts.outside)} source="derived" how="Accesses before the first or past the last element" />
    </Figures>
  );
}

function Legend(props: { scene: Scene }): JSX.Element {
  const { scene } = props;
  const scale = scene.colour === "value" && scene.values
    ? [threeFigures(scene.values.min ?? 0), threeFigures(scene.values.max ?? 0)]
    : ["1 access", scene.most === null ? "the most" : formatCount(scene.most)];
  const source = scene.colour === "value" ? "measured: as recorded before the first launch" : "derived";
  return (
    <p class="small muted launch-legend">
      <span class="launch-scale" aria-hidden="true" /> {scale[0]} to {scale[1]} ({source})
      {scene.lanes ? <><span class="launch-key masked" aria-hidden="true" /> masked lanes only</> : null}
      {scene.context ? <><span class="launch-key context" aria-hidden="true" /> by other programs or iterations</> : null}
      {scene.counts.outside ? <><span class="launch-key outside" aria-hidden="true" /> outside the tensor</> : null}
      <span>Click an element; wheel zooms once the map has the focus.</span>
    </p>
  );
}

/** How often each element is accessed, as NumPy reads it. */
function downloadCounts(name: string, extent: number, dense: Scene["counts"]["dense"]): void {
  if (!dense) return;
  const file = npyFile("<u4", [extent], extent * 4);
  const target = new DataView(file.data.buffer, file.data.byteOffset);
  for (let at = 0; at < extent; at += 1) target.setUint32(at * 4, dense.counts[at - dense.low] ?? 0, true);
  download(`${name}-accesses.npy`, file.whole);
}
