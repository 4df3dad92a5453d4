// Loops of a call, each with a slider, and the on-chip memory in use in the chosen trips.

import { useMemo } from "preact/hooks";
import { chosenNumber, href, setQuery } from "@report/app/router";
import { formatCount, plural, shortText } from "@report/data/format";
import { page } from "@report/data/page";
import type { CallBlock } from "../model";
import { derived, Figures } from "@report/parts/figure";
import { LoopSliders, useTrips } from "@report/parts/loop_sliders";
import { Slider } from "@report/parts/slider";
import { Note } from "@report/parts/text";
import { tripsText } from "@report/accesses/trips";
import { amountText } from "./memory_map";
import { type Moment, momentOf, mostThen, stretchesOf, tilesThen } from "./moment";

/** Returns the ops that the sliders select; null if no slider is set. */
export function useMoment({ sequence }: CallBlock): Moment | null {
  const trips = useTrips();
  const program = chosenNumber("prog");
  return useMemo(
    () => (trips.size || program !== null ? momentOf(sequence, trips, program) : null),
    [sequence, trips, program],
  );
}

/** Maximum number of links to maps of accesses. */
const MOST_LINKS = 12;

export function Loops(props: {
  call: number;
  block: CallBlock;
  programs: number;
  moment: Moment | null;
}) {
  const { call, block, programs, moment } = props;
  const { sequence, memory } = block;
  const unlisted = memory.executed - sequence.op.length;
  const program = chosenNumber("prog");
  return (
    <div id="loops">
      {programs > 1 ? (
        <Slider
          name="program"
          label="Program"
          size={programs}
          value={program}
          onChange={(prog) => setQuery({ prog })}
        >
          <button
            type="button"
            class="small"
            aria-pressed={program === null}
            onClick={() => setQuery({ prog: null })}
          >
            All programs
          </button>
        </Slider>
      ) : null}
      <LoopSliders loops={block.loops} />
      {unlisted > 0 ? (
        <Note>The last {plural(unlisted, "executed op")} are in no trip here.</Note>
      ) : null}
      {moment ? (
        <MomentFigures call={call} block={block} moment={moment} />
      ) : (
        <p class="muted small">
          Choose a trip to see the ops in it, and what is in SBUF and PSUM then.
        </p>
      )}
    </div>
  );
}

function MomentFigures(props: { call: number; block: CallBlock; moment: Moment }) {
  const { block, moment, call } = props;
  const { memory } = block;
  const trips = tripsText(useTrips());
  const program = chosenNumber("prog");
  const grid = page.report.calls[call]?.grid ?? [];
  const [first, last] = [moment.orders[0], moment.orders.at(-1)];
  if (first === undefined || last === undefined) {
    return <p class="muted small">No op is executed in this combination of trips.</p>;
  }
  const stretches = stretchesOf(moment.orders).length;
  const transfers = block.ops.filter((op) => op.device_bytes && moment.executions.has(op.op_index));
  const between =
    first === last
      ? `op ${formatCount(first)}`
      : `between ops ${formatCount(first)} and ${formatCount(last)}`;
  const parts =
    stretches === 1 ? between : `${between}, in ${plural(stretches, "stretch", "stretches")}`;
  return (
    <>
      <Figures
        id="moment"
        of={[
          derived("ops in these trips", moment.orders.length, "count", "", parts),
          ...memory.usage.map((usage) => {
            const most = mostThen(usage, moment);
            const tiles = memory.tiles.filter(({ space }) => space === usage.space);
            return {
              name: `${usage.space.toUpperCase()} then`,
              value: most,
              shown: amountText(usage, most),
              how: "The most of one partition in use at one of these ops",
              detail: `${plural(tilesThen(tiles, moment).length, "tile")}, derived`,
            };
          }),
        ]}
      />
      {transfers.length ? (
        <p class="small" id="moment-accesses">
          Accesses in these trips:{" "}
          {transfers.slice(0, MOST_LINKS).map((op, place) => (
            <>
              {place ? ", " : ""}
              <a
                key={op.op_index}
                href={href(`call/${call}`, {
                  op: op.op_index,
                  trips,
                  p: programQuery(program, grid),
                })}
              >
                {shortText(op.op, 40)} {op.op_index}
              </a>
            </>
          ))}
          {transfers.length > MOST_LINKS ? " …" : ""}
        </p>
      ) : null}
    </>
  );
}

/** Returns a program's coordinates for the address of its call; the first axis varies fastest. */
function programQuery(program: number | null, grid: readonly (number | null)[]): string | null {
  if (program === null) return null;
  const [x, y] = [grid[0] ?? 1, grid[1] ?? 1];
  return [program % x, Math.floor(program / x) % y, Math.floor(program / x / y)].join(",");
}
