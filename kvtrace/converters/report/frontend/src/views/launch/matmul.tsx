// A product C = A · B: the three tensors as they meet in it, with the slices of k that the chosen
// program multiplies, one iteration after the other.

import { useMemo } from "preact/hooks";

import { formatCount, plural, shortText } from "../../data/format";
import type { Page } from "../../data/page";
import type { Call } from "../../data/types";
import { WithTable } from "../../parts/beside";
import { Note } from "../../parts/text";
import type { CallBlock, Dot } from "./blocks";
import { countsOf } from "./counts";
import { placeText } from "./element_panel";
import { CountTable } from "./element_table";
import { ALL, lastIteration } from "./layout";
import { AccessMap } from "./map";
import { PLAIN_SCENE, type Scene } from "./map_colours";
import { IterationSlider } from "./programs";
import { lookOf, touchedBy } from "./scene";
import { choose, chosenNumber, chosenProgram, type Place, programNumber } from "./state";
import { indexOf, NOTHING_ASKED } from "./tensor";

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
    <div id="matmul">
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

interface FactorProps extends MatmulProps {
  readonly name: string;
  readonly op: number | null;
  readonly turned: boolean;
  readonly iteration: number | null;
}

function Factor(props: FactorProps) {
  const { page, call, block, grid, name, op, turned } = props;
  const program = programNumber(chosenProgram(grid), grid);
  const touched = useMemo(() => touchedBy(page, call, block, op), [block, op]);
  // what is loaded before the loop is the same in each of its iterations
  const iteration = touched?.op.loop === props.dot.loop ? props.iteration : null;
  const scene = useMemo<Scene | null>(() => {
    if (!touched?.accesses.length) return null;
    const { extent } = lookOf(touched, NOTHING_ASKED);
    const counts = countsOf(touched, extent, { program, iteration });
    const { look, slice } = factorLook(touched, counts.first, turned);
    const around = iteration === null ? ALL : { program, iteration: null };
    const context = countsOf(touched, extent, around);
    return { ...PLAIN_SCENE, look, slice, counts, context, unit: touched.unit, most: counts.most };
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
  const describe = (offset: number): string =>
    `${name}: ${placeText(scene, touched, { program, iteration }, grid, offset)}`;
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
            describe={describe}
            onElement={() => undefined}
          />
        }
        table={() => <CountTable id={`elements-${name}`} scene={scene} touched={touched} />}
      />
    </figure>
  );
}

/** The last two axes as they stand in the product; other axes where the program is. */
function factorLook(
  touched: Parameters<typeof lookOf>[0],
  first: number,
  turned: boolean,
): Pick<Scene, "look" | "slice"> {
  const { axes, order, fixed } = lookOf(touched, NOTHING_ASKED);
  const index = Number.isFinite(first) ? indexOf(axes, first) : [];
  const [row = 0, column = 0] = order.slice(-2);
  const swapped = turned && order.length >= 2 ? [...order.slice(0, -2), column, row] : order;
  const at = fixed.map((axis) => index[axis.at] ?? 0).join(",");
  const look = lookOf(touched, { shape: null, axes: swapped.join(","), at });
  return { look, slice: look.slices ? (index[order.at(-3) ?? 0] ?? 0) : 0 };
}
