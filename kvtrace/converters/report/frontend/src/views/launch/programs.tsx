// Choosing a program: sliders for x, y and z, and the grid as a heat map.

import { useMemo } from "preact/hooks";

import { formatGrid, formatShare, formatted, plural } from "../../data/format";
import { WithTable } from "../../parts/beside";
import { figure, words } from "../../parts/columns";
import { Choice } from "../../parts/search";
import { Slider } from "../../parts/slider";
import { Table } from "../../parts/table";
import type { CallBlock } from "./blocks";
import type { HereFinding } from "./findings";
import { GridHeat } from "./grid_heat";
import { gridWork, MOST_PROGRAMS } from "./grid_work";
import {
  choose,
  chosen,
  chosenNumber,
  chosenProgram,
  type Place,
  programNumber,
  programPlace,
  programText,
} from "./state";

interface ProgramsProps {
  readonly block: CallBlock;
  readonly grid: Place;
  readonly findings: readonly HereFinding[];
  /** The chosen op, for heat of that op alone. */
  readonly op: number | null;
}

/** What the grid is coloured by, and the unit of that. */
const HEAT = { bytes: "bytes", masked: "share", findings: "count" } as const;

export function Programs({ block, grid, findings, op }: ProgramsProps) {
  const count = grid[0] * grid[1] * grid[2];
  const asked = chosen("heat");
  const kind = asked === "masked" || asked === "findings" ? asked : "bytes";
  const only = chosen("scope") === "op" ? op : null;
  const program = chosenProgram(grid);
  const number = programNumber(program, grid);
  const work = useMemo(() => gridWork(block, count, only), [block, count, only]);
  const perProgram = useMemo(() => findingsByProgram(findings, grid, count), [findings, grid]);
  const rows = useMemo(() => Uint32Array.from(perProgram.keys()), [perProgram]);
  const maskedShares = useMemo(
    () => work.lanes && work.masked?.map((masked, each) => masked / (work.lanes?.[each] || 1)),
    [work],
  );
  const heat = { bytes: work.bytes, masked: maskedShares, findings: perProgram }[kind] ?? null;
  const pick = (place: Place): void => choose({ p: place.join(",") });
  return (
    <div id="programs">
      <div class="launch-sliders">
        {(["x", "y", "z"] as const).map((name, axis) => (
          <Slider
            key={name}
            name={name}
            label={`Program ${name}`}
            size={grid[axis] ?? 1}
            value={program?.[axis] ?? null}
            onChange={(value) => {
              const next: [number, number, number] = [...(program ?? ([0, 0, 0] as const))];
              next[axis] = value;
              pick(next);
            }}
          />
        ))}
        <div class="slider">
          <button
            type="button"
            id="all-programs"
            aria-pressed={program === null}
            onClick={() => choose({ p: null })}
          >
            All programs
          </button>
          <button type="button" onClick={() => pick([0, 0, 0])}>
            First
          </button>
          <button type="button" onClick={() => pick(programPlace(count - 1, grid))}>
            Last
          </button>
        </div>
      </div>
      <div class="toolbar">
        <Choice
          label="Grid coloured by"
          value={kind}
          options={[
            ["bytes", "work (bytes)"],
            ["masked", "masked share"],
            ["findings", "findings"],
          ]}
          onChoose={(value) => choose({ heat: value === "bytes" ? null : value })}
        />
        <Choice
          label="Of"
          value={only === null ? "all" : "op"}
          options={[
            ["all", "all ops"],
            ["op", "the chosen op"],
          ]}
          onChoose={(value) => choose({ scope: value === "op" ? "op" : null })}
        />
      </div>
      {count > MOST_PROGRAMS ? null : (
        <WithTable
          name="Programs of the grid"
          canvas={
            <GridHeat
              grid={grid}
              heat={heat}
              findings={perProgram}
              program={number}
              show={(each) => (heat ? formatted(heat[each], HEAT[kind]) : "not known")}
              onChoose={(each) => pick(programPlace(each, grid))}
            />
          }
          table={() => (
            <Table<number>
              id="program-table"
              caption="Programs of the grid"
              columns={[
                words("Program", (row) => programText(row, grid), { key: (row) => row }),
                figure("bytes", "derived", (row) => work.bytes?.[row], "bytes"),
                figure(
                  "masked lanes",
                  "derived",
                  (row) => maskedShares?.[row],
                  (share) => formatShare(share, 1),
                ),
                figure("findings", "derived", (row) => perProgram[row]),
              ]}
              rows={rows}
              chosen={number}
              onChoose={(row) => pick(programPlace(row, grid))}
              height={10}
            />
          )}
        />
      )}
      <p class="small muted">
        {grid[1] * grid[2] > 1 ? `${formatGrid(grid)} = ` : ""}
        {plural(count, "program")}. Derived from the ops' accesses.{" "}
        {kind === "findings" ? "" : work.partial}
      </p>
    </div>
  );
}

function findingsByProgram(
  findings: readonly HereFinding[],
  grid: Place,
  count: number,
): Float64Array {
  const found = new Float64Array(Math.min(count, MOST_PROGRAMS));
  for (const { placed, own } of findings) {
    for (const program of [placed.found.program, placed.found.other_program]) {
      const number = own && program ? programNumber(program, grid) : null;
      if (number !== null && number < found.length) found[number] = (found[number] as number) + 1;
    }
  }
  return found;
}

/** The iteration of the innermost loop: a slider and a number, or all of them. */
export function IterationSlider({ last }: { last: number }) {
  const value = chosenNumber("it");
  return (
    <Slider
      id="iterations"
      name="Iteration"
      label="Iteration of the loop"
      size={last + 1}
      value={value}
      onChange={(it) => choose({ it })}
    >
      <button type="button" aria-pressed={value === null} onClick={() => choose({ it: null })}>
        All iterations
      </button>
    </Slider>
  );
}
