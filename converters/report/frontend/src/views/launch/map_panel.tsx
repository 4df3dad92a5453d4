// The access map of an op's tensor with all that belongs to it: figures, how it is viewed,
// what its colors mean, the chosen element, and the same as a table.

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { chosen, setQuery } from "../../app/router";
import { formatCount, formatShare, shortText, threeFigures } from "../../data/format";
import type { CallOps } from "../../data/types";
import { Split, WithTable } from "../../parts/beside";
import { figure, words } from "../../parts/columns";
import { derived, Figures } from "../../parts/figure";
import { LoopSliders, type SlidLoop } from "../../parts/loop_sliders";
import { AddressChoice } from "../../parts/search";
import { Table } from "../../parts/table";
import { Note } from "../../parts/text";
import { AccessMap, subsetColor } from "./access_map";
import { CountTable, ElementPanel, placeText } from "./element";
import type { HereFinding } from "./findings";
import { LookEditor, SliceBar } from "./look_editor";
import { IterationSlider } from "./programs";
import { accessHeat, Key, mapColors, Scale } from "./map_colors";
import { type Scene, type Touched, useScene } from "./scene";
import { type Place, programQuery, programText } from "./state";
import type { Subset, Subsets } from "../../accesses/subsets";
import { loopsAround, tellsTrips } from "../../accesses/trips";
import { download, npyFile } from "../../accesses/values";
import { WarpPanel } from "./warp";

interface MapPanelProps {
  readonly block: CallOps;
  readonly grid: Place;
  readonly touched: Touched;
  readonly findings: readonly HereFinding[];
}

export function MapPanel({ block, grid, touched, findings }: MapPanelProps) {
  const nested = touched.accesses.some(tellsTrips);
  const { scene, last, slices } = useScene(grid, touched, findings);
  const { look, slice, counts, values, color, subsets, element } = scene;
  const map = {
    scene,
    label: `Accesses of ${shortText(touched.name, 60)} by ${touched.op.op}`,
    height: look.rows.size <= 2 ? 96 : 400,
    describe: (offset: number) => placeText(scene, grid, offset),
    onElement: (el: number | null) => setQuery({ el }),
  };
  const drawn = (canvas: ComponentChildren) => (
    <>
      <WithTable
        name={map.label}
        canvas={canvas}
        table={() => <CountTable scene={scene} onChoose={map.onElement} />}
      />
      <Legend scene={scene} />
    </>
  );
  return (
    <div>
      {nested ? (
        <LoopSliders loops={slidLoops(block, touched.op.loop)} />
      ) : last === null ? null : (
        <IterationSlider last={last} />
      )}
      <div class="toolbar">
        <AddressChoice
          label="Color by"
          name="color"
          options={[
            ["count", "accesses"],
            ["programs", "programs that share elements"],
            ...(values ? ([["value", "value"]] as const) : []),
          ]}
        />
        {counts.dense ? (
          <button type="button" id="download-counts" onClick={() => save(scene)}>
            Download the counts (.npy)
          </button>
        ) : null}
      </div>
      <LookEditor look={look} />
      {look.slices ? <SliceBar slice={slice} slices={slices} /> : null}
      {look.slices && chosen("lay") === "side" ? (
        <>
          {drawn(<SideBySide {...map} slices={slices} />)}
          <CountFigures scene={scene} />
        </>
      ) : (
        <Split
          left={drawn(<AccessMap {...map} id="access-map" />)}
          right={
            <>
              <CountFigures scene={scene} />
              {touched.warps ? <WarpPanel scene={scene} grid={grid} /> : null}
            </>
          }
        />
      )}
      {color === "programs" ? <SubsetLegend subsets={subsets} grid={grid} /> : null}
      {element === null ? null : (
        <ElementPanel scene={scene} grid={grid} offset={element} text={map.describe(element)} />
      )}
    </div>
  );
}

/** The loops around an op, the outermost first. */
function slidLoops({ loops }: CallOps, innermost: number | null): SlidLoop[] {
  return loopsAround(loops, innermost)
    .flatMap((index) => loops.filter((each) => each.index === index))
    .map((loop) => ({ ...loop, trips: loop.max ?? 0 }))
    .reverse();
}

/** How often each element is accessed, as NumPy reads it. */
function save({ touched, look: { extent }, counts: { dense } }: Scene): void {
  const file = npyFile("<u4", [extent], extent * 4);
  const target = new DataView(file.data.buffer, file.data.byteOffset);
  for (let at = 0; at < extent; at += 1)
    target.setUint32(at * 4, dense?.counts[at - dense.low] ?? 0, true);
  download(`${touched.name}-accesses.npy`, file.whole);
}

/** Slices shown at a time. */
const MOST_SIDE = 12;

type MapProps = Parameters<typeof AccessMap>[0];

function SideBySide({ slices: size, ...map }: MapProps & { slices: number }) {
  const { scene } = map;
  const from = size <= MOST_SIDE ? 0 : Math.min(scene.slice, size - MOST_SIDE);
  const scenes = useMemo(
    () =>
      Array.from({ length: Math.min(size, MOST_SIDE) }, (_, at) => ({
        ...scene,
        slice: from + at,
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

const DISTINCT = "Distinct elements; not counted above 16 M";
const MASKED =
  "Lanes that the mask turns off in the accesses shown, without accesses with no active lane";

function CountFigures({ scene: { counts, look, lanes, touched } }: { scene: Scene }) {
  const { unit, width } = touched;
  const any = Number.isFinite(counts.first);
  const share = `${formatShare(counts.touched, Math.min(look.elements, look.extent))} of the tensor`;
  const each = width > 1 ? `derived, ${width} elements a lane` : null;
  const masked = lanes ? (lanes.total - counts.total) / width : 0;
  const pointer = "From the argument's data pointer";
  return (
    <Figures
      id="map-figures"
      of={[
        derived(
          "accesses",
          counts.total,
          "count",
          "Active lanes of the chosen programs and iterations, of all lanes",
          each,
        ),
        derived("elements touched", counts.touched, "count", DISTINCT, `derived, ${share}`),
        derived("most often", counts.most, "count", "Accesses of the most accessed element"),
        derived("first byte", any ? counts.first * unit : null, "count", pointer),
        derived("last byte", any ? (counts.last + 1) * unit - 1 : null, "count", pointer),
        derived("masked lanes", masked, "count", MASKED),
        derived(
          "outside the tensor",
          counts.outside,
          "count",
          "Elements before the tensor's first or past its last",
        ),
      ]}
    />
  );
}

function Legend({ scene }: { scene: Scene }) {
  const { counts, context, lanes, values, color, tiles, touched } = scene;
  const byValue = color === "value" ? values : null;
  const colors = mapColors();
  const most = counts.most ?? Infinity;
  const plain = byValue === null;
  const keys: readonly (readonly [boolean, keyof typeof colors, string])[] = [
    [byValue !== null && byValue.nan > 0, "nan", "not a number"],
    [plain && lanes !== null, "masked", "masked lanes only"],
    [plain && context !== null, "context", "by other programs or iterations"],
    [
      plain && counts.dense !== null && touched.warps,
      "wasted",
      "moved with a sector, not requested",
    ],
    [plain, "untouched", "not accessed"],
    [counts.outside > 0, "outside", "outside the tensor"],
  ];
  return (
    <p class="small muted launch-legend" id="access-legend">
      {plain && color === "programs" ? null : (
        <span>
          <Scale
            from={byValue ? 0 : accessHeat(1, most)}
            to={byValue || most > 1 ? 1 : accessHeat(1, most)}
          />{" "}
          {byValue
            ? `${threeFigures(byValue.min ?? 0)} to ${threeFigures(byValue.max ?? 0)} (measured: as recorded before the first launch), pale where not accessed`
            : most === 1
              ? "1 access (derived)"
              : `1 access to ${counts.most === null ? "the most" : formatCount(most)} (derived)`}
        </span>
      )}
      {keys.map(([shown, name, text]) =>
        shown ? (
          <Key key={name} name={name} color={colors[name]}>
            {text}
          </Key>
        ) : null,
      )}
      {tiles?.length ? (
        <span>Where there is room, each program's accesses are outlined, with its number.</span>
      ) : null}
      <span>Click an element; wheel zooms once the map has the focus.</span>
    </p>
  );
}

type Row = Subset & { readonly number: number };

/** Programs that are named; of more of them the first are. */
const MOST_NAMED = 6;

function SubsetLegend({ subsets, grid }: { subsets: Subsets | null; grid: Place }) {
  const rows = useMemo(() => {
    const all = (subsets?.subsets ?? []).map((subset, number): Row => ({ ...subset, number }));
    return all.filter(({ elements }) => elements).sort((a, b) => b.elements - a.elements);
  }, [subsets]);
  if (!subsets) {
    return (
      <Note>
        There are too many programs or elements to distinguish; choose one program, or color by
        accesses.
      </Note>
    );
  }
  const named = ({ programs }: Row): string => {
    const names = programs.slice(0, MOST_NAMED).map((program) => programText(program, grid));
    return `${names.join(" ")}${programs.length > MOST_NAMED ? " …" : ""}`;
  };
  return (
    <Table<Row>
      id="subsets"
      caption="Programs that access the same elements"
      columns={[
        {
          label: "Color",
          cell: ({ number }) => <span class="key" style={{ background: subsetColor(number) }} />,
          text: ({ number }) => String(number),
        },
        words("Programs", named, { source: "derived" }),
        figure("how many", "derived", ({ programs }) => programs.length),
        figure("elements", "derived", ({ elements }) => elements),
      ]}
      rows={rows}
      onChoose={({ programs }) => setQuery({ p: programQuery(programs[0] ?? 0, grid) })}
      height={8}
    />
  );
}
