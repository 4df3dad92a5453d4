// A product C = A · B: the three tensors as they meet in it, with the slices of k that the chosen
// program multiplies, one iteration after the other.

import { useMemo } from "preact/hooks";
import { chosenNumber, setQuery } from "../../app/router";
import { formatCount, plural, shortText } from "../../data/format";
import { indexOf } from "../../data/tensors";
import type { Call, CallOps, Dot } from "../../data/types";
import { WithTable } from "../../parts/beside";
import { Note } from "../../parts/text";
import { AccessMap } from "./access_map";
import { ALL, lastIteration } from "../../accesses/records";
import { countsOf } from "../../accesses/counts";
import { CountTable, placeText } from "./element";
import { NOTHING_ASKED } from "../../accesses/look";
import { IterationSlider } from "./programs";
import { fixedAt, lookOf, PLAIN_SCENE, type Scene, type Touched, touchedBy } from "./scene";
import { chosenProgram, type Place, programNumber } from "./state";

interface MatmulProps {
  readonly call: Call;
  readonly block: CallOps;
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
  const { call, block, grid, name, op, turned } = props;
  const program = programNumber(chosenProgram(grid), grid);
  const touched = useMemo(() => touchedBy(call, block, op), [block, op]);
  // what is loaded before the loop is the same in each of its iterations
  const iteration = touched?.op.loop === props.dot.loop ? props.iteration : null;
  const scene = useMemo(
    () => (touched?.accesses.length ? factorScene(touched, program, iteration, turned) : null),
    [touched, program, iteration, turned],
  );
  if (!touched || !scene) {
    return (
      <figure data-factor={name}>
        <figcaption>{name}</figcaption>
        <Note>
          {name === "C"
            ? "The store of the product is not known."
            : "It is not loaded directly, but computed by other ops."}
        </Note>
      </figure>
    );
  }
  const label = `${name} of the product`;
  return (
    <figure data-factor={name} data-accesses={scene.counts.total}>
      <figcaption>
        <strong>{name}</strong> = <code>{shortText(touched.name, 60)}</code>
        {turned ? ", transposed" : ""}{" "}
        <button
          type="button"
          class="quiet small"
          onClick={() => setQuery({ op, arg: null, tab: null })}
        >
          {touched.op.op} {op}
        </button>
      </figcaption>
      <WithTable
        name={label}
        canvas={
          <AccessMap
            scene={scene}
            label={`${label}: ${shortText(touched.name, 60)}`}
            height={220}
            describe={(offset) => `${name}: ${placeText(scene, grid, offset)}`}
            onElement={() => undefined}
          />
        }
        table={() => <CountTable id={`elements-${name}`} scene={scene} />}
      />
    </figure>
  );
}

/** The last two axes as the product has them; other axes at the program's index. */
function factorScene(
  touched: Touched,
  program: number | null,
  iteration: number | null,
  turned: boolean,
): Scene {
  const plain = lookOf(touched, NOTHING_ASKED);
  const { axes, order, extent } = plain;
  const wanted = { program, iteration };
  const counts = countsOf(touched, extent, wanted);
  const index = indexOf(axes, counts.first) ?? [];
  const swapped = turned && order.length >= 2;
  const shown = swapped ? [...order.slice(0, -2), ...order.slice(-2).reverse()] : order;
  const look = lookOf(touched, { shape: null, axes: shown.join(","), at: fixedAt(plain, index) });
  const slice = look.slices ? (index[shown.at(-3) ?? 0] ?? 0) : 0;
  const context = countsOf(
    touched,
    extent,
    iteration === null ? ALL : { program, iteration: null },
  );
  return { ...PLAIN_SCENE, touched, wanted, look, slice, counts, context };
}
