// A product C = A · B: the three tensors as they meet in it, with the slices of k that the chosen
// program multiplies, one iteration after the other.

import { useMemo } from "preact/hooks";

import { formatCount, plural, shortText } from "../../data/format";
import type { Page } from "../../data/page";
import type { Call } from "../../data/types";
import { WithTable } from "../../parts/beside";
import { Note } from "../../parts/text";
import type { CallBlock, Dot } from "./blocks";
import { placeText } from "./element_panel";
import { ElementTable } from "./element_table";
import { lastIteration } from "./layout";
import { AccessMap } from "./map";
import type { Scene } from "./map_colours";
import { IterationSlider } from "./programs";
import { RegionTable } from "./element_table";
import { countedIn, indexOf, lookOf, touchedBy } from "./scene";
import { type Place, choose, chosenNumber, chosenProgram, programNumber } from "./state";

interface MatmulProps {
  readonly page: Page;
  readonly call: Call;
  readonly block: CallBlock;
  readonly grid: Place;
  readonly dot: Dot;
}

export function Matmul(props: MatmulProps) {
  const { block, grid, dot } = props;
  const program = chosenProgram(grid);
  const factors = block.accesses.filter(({ op }) => op === dot.a || op === dot.b);
  const last = dot.loop === null ? null : lastIteration(factors);
  const iteration = last === null ? null : chosenNumber("it");
  const shape = (rows: number | null, columns: number | null): string =>
    `${formatCount(rows)} × ${formatCount(columns)}`;
  return (
    <div id="matmul" class="launch-panel">
      <p>
        C ({shape(dot.m, dot.n)}) += A ({shape(dot.m, dot.k)}) · B ({shape(dot.k, dot.n)}) in each
        execution
        {last === null ? "" : `, ${plural(last + 1, "iteration")} of the loop`}.{" "}
        <span class="muted">
          {program
            ? `Program (${program.join(", ")}): hot is ${iteration === null ? "all that it multiplies" : `iteration ${iteration}`}, pale what it multiplies in others.`
            : "Choose a program to see the rows and columns that it multiplies."}
        </span>
      </p>
      {last === null ? null : <IterationSlider last={last} />}
      <div class="launch-matmul">
        <span />
        <Factor {...props} name="B" op={dot.b} turned={dot.b_transposed} iteration={iteration} />
        <Factor {...props} name="A" op={dot.a} turned={dot.a_transposed} iteration={iteration} />
        <Factor {...props} name="C" op={dot.c} turned={false} iteration={null} />
      </div>
    </div>
  );
}

function Factor(
  props: MatmulProps & {
    name: string;
    op: number | null;
    turned: boolean;
    iteration: number | null;
  },
) {
  const { page, call, block, grid, name, op, turned } = props;
  const program = programNumber(chosenProgram(grid), grid);
  const touched = useMemo(() => touchedBy(page, call, block, op), [block, op]);
  // what is loaded before the loop is the same in each of its iterations
  const iteration = touched?.op.loop === props.dot.loop ? props.iteration : null;
  const scene = useMemo<Scene | null>(() => {
    if (!touched || !touched.accesses.length) return null;
    const wanted = { program, iteration };
    const extent = lookOf(touched, PLAIN).extent;
    const counts = countedIn(touched, extent, wanted);
    const look = factorLook(touched, counts.first, turned);
    const axis = look.order[look.order.length - 3] ?? 0;
    return {
      look,
      counts,
      slice:
        look.slices && Number.isFinite(counts.first)
          ? (indexOf(look.axes, counts.first)[axis] ?? 0)
          : 0,
      context: countedIn(
        touched,
        extent,
        iteration === null ? { program: null, iteration: null } : { program, iteration: null },
      ),
      lanes: null,
      values: null,
      subsets: null,
      colour: "count",
      unit: touched.unit,
      most: counts.most,
      marks: [],
      element: null,
    };
  }, [touched, program, iteration, turned]);
  if (!touched || !scene) {
    return (
      <figure data-factor={name}>
        <figcaption>{name}</figcaption>
        <Note>
          {name === "C"
            ? "Where the sum goes cannot be told."
            : "It is not loaded as it is: other ops make it."}
        </Note>
      </figure>
    );
  }
  return (
    <figure data-factor={name} data-accesses={scene.counts.total}>
      <figcaption>
        <strong>{name}</strong> = <code>{shortText(touched.name, 60)}</code>
        {turned ? ", transposed" : ""}{" "}
        <button
          type="button"
          class="quiet small"
          onClick={() => choose({ op, arg: null, tab: null })}
        >
          {touched.op.op} {op}
        </button>
      </figcaption>
      <WithTable
        name={`${name} of the product`}
        canvas={
          <AccessMap
            scene={scene}
            label={`${name} of the product: ${shortText(touched.name, 60)}`}
            height={220}
            describe={(offset) =>
              `${name}: ${placeText(scene, touched, { program, iteration }, grid, offset)}`
            }
            onElement={() => undefined}
          />
        }
        table={() =>
          scene.counts.dense ? (
            <ElementTable id={`elements-${name}`} scene={scene} touched={touched} />
          ) : (
            <RegionTable scene={scene} />
          )
        }
      />
    </figure>
  );
}

const PLAIN = { shape: null, axes: null, at: null };

/** The last two axes as they stand in the product; other axes where the program is. */
function factorLook(
  touched: Parameters<typeof lookOf>[0],
  first: number,
  turned: boolean,
): Scene["look"] {
  const plain = lookOf(touched, PLAIN);
  const index = Number.isFinite(first) ? indexOf(plain.axes, first) : [];
  const order = turned && plain.order.length >= 2 ? swapLast(plain.order) : plain.order;
  return lookOf(touched, {
    shape: null,
    axes: order.join(","),
    at: plain.fixed.map((axis) => index[axis.at] ?? 0).join(","),
  });
}

function swapLast(order: readonly number[]): number[] {
  const [row, column] = order.slice(-2);
  return [...order.slice(0, -2), column ?? 0, row ?? 0];
}
