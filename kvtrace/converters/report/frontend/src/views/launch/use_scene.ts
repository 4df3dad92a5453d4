// The scene of an access map, from the op and from what the address says is chosen.

import { useMemo } from "preact/hooks";

import type { Page } from "../../data/page";
import { useLoaded } from "../../data/use_block";
import { countsOf } from "./counts";
import type { HereFinding } from "./findings";
import { type Executions, lastIteration } from "./layout";
import type { Colouring, Scene } from "./map_colours";
import { shownSlices } from "./map_paint";
import { firstTouched, hasMask, lookOf, marksOf, type Touched } from "./scene";
import { chosen, chosenNumber, chosenProgram, type Place, programNumber } from "./state";
import { subsetsOf } from "./subsets";
import { indexOf, placeOf } from "./tensor";
import { type Values, valuesOf } from "./values";

interface Chosen {
  readonly scene: Scene;
  /** The executions whose accesses are counted. */
  readonly wanted: Executions;
  /** The last iteration of the loop around the op; null where there is none. */
  readonly last: number | null;
  /** Slices to see, those past the tensor's end among them. */
  readonly slices: number;
}

export interface SceneAsked {
  readonly page: Page;
  readonly grid: Place;
  readonly touched: Touched;
  readonly findings: readonly HereFinding[];
}

/** Each part is worked out anew only where what it depends on is another. */
export function useScene({ page, grid, touched, findings }: SceneAsked): Chosen {
  const wanted = {
    program: programNumber(chosenProgram(grid), grid),
    iteration: chosenNumber("it"),
  };
  const last = touched.op.loop === null ? null : lastIteration(touched.accesses);
  if (last === null) wanted.iteration = null;
  const asked = { shape: chosen("shape"), axes: chosen("axes"), at: chosen("at") };
  const first = useMemo(
    () => firstTouched(touched, wanted),
    [touched, wanted.program, wanted.iteration],
  );
  const look = useMemo(() => {
    const plain = lookOf(touched, asked);
    if (plain.axes.length < 4 || asked.at !== null || !Number.isFinite(first)) return plain;
    const index = indexOf(plain.axes, first);
    return lookOf(touched, { ...asked, at: plain.fixed.map((axis) => index[axis.at]).join(",") });
  }, [touched, asked.shape, asked.axes, asked.at, first]);
  const all = useMemo(() => countsOf(touched, look.extent), [touched, look.extent]);
  const some = wanted.program !== null || wanted.iteration !== null;
  const counts = useMemo(
    () => (some ? countsOf(touched, look.extent, wanted) : all),
    [all, wanted.program, wanted.iteration],
  );
  const lanes = useMemo(
    () => (hasMask(touched) ? countsOf(touched, look.extent, wanted, "all") : null),
    [touched, look.extent, wanted.program, wanted.iteration],
  );
  const values = useValues(page, touched);
  const colour = colouring(chosen("colour"), values !== null);
  const subsets = useMemo(
    () =>
      colour === "programs"
        ? subsetsOf(touched, grid[0] * grid[1] * grid[2], wanted.iteration)
        : null,
    [touched, colour === "programs", wanted.iteration],
  );
  const marks = useMemo(() => marksOf(findings, touched), [findings, touched]);
  const slices = useMemo(() => shownSlices(look, all, marks), [look, all, marks]);
  const element = /^-?\d+$/.test(chosen("el") ?? "") ? Number(chosen("el")) : null;
  const sliceAsked = chosenNumber("slice");
  const slice = useMemo(() => {
    const shown = element ?? (Number.isFinite(first) ? first : 0);
    return Math.min(Math.max(sliceAsked ?? placeOf(look, shown)?.[2] ?? 0, 0), slices - 1);
  }, [look, sliceAsked, element, first, slices]);
  const scene = useMemo<Scene>(
    () => ({
      look,
      slice,
      counts,
      context: some ? all : null,
      lanes,
      values,
      colour,
      subsets,
      unit: touched.unit,
      most: counts.most,
      marks,
      element,
    }),
    [look, slice, counts, all, lanes, values, colour, subsets, marks, element],
  );

  return { scene, wanted, last, slices };
}

/** The tensor's recorded elements; null where there are none on the page. */
function useValues(page: Page, { recorded }: Touched): Values | null {
  const name = `tensor/${recorded?.artifact ?? ""}`;
  const block = recorded && page.has(name) ? name : null;
  const storage = useLoaded(block, block === null ? null : () => page.bytes(block));
  return useMemo(
    () => (recorded && storage.state === "ready" ? valuesOf(recorded, storage.value) : null),
    [storage.state, recorded],
  );
}

function colouring(asked: string | null, hasValues: boolean): Colouring {
  if (asked === "programs") return asked;
  return asked === "value" && hasValues ? asked : "count";
}
