// Choosing a program: sliders for x, y and z, and the grid as a heat map.

import { useMemo } from "preact/hooks";

import { Slider } from "../../parts/slider";
import { figure, words } from "../../parts/columns";
import { formatBytes, formatCount, formatGrid, formatShare } from "../../data/format";
import { WithTable } from "../../parts/beside";
import { Choice } from "../../parts/search";
import { type Column, Table } from "../../parts/table";
import type { CallBlock } from "./blocks";
import { GridHeat } from "./grid_heat";
import { gridWork } from "./grid_work";
import {
  type Place,
  choose,
  chosen,
  chosenNumber,
  chosenProgram,
  programNumber,
  programPlace,
  programText,
} from "./state";
import type { HereFinding } from "./findings";

interface ProgramsProps {
  readonly block: CallBlock;
  readonly grid: Place;
  readonly findings: readonly HereFinding[];
  /** The chosen op, for heat of that op alone. */
  readonly op: number | null;
}

const AXES = ["x", "y", "z"] as const;

export function Programs(props: ProgramsProps) {
  const { block, grid, findings } = props;
  const count = grid[0] * grid[1] * grid[2];
  const kind = heatKind(chosen("heat"));
  const only = chosen("scope") === "op" ? props.op : null;
  const program = chosenProgram(grid);
  const work = useMemo(() => gridWork(block, count, only), [block, count, only]);
  const perProgram = useMemo(() => findingsByProgram(findings, grid, count), [findings, grid]);
  const heat = useMemo(() => {
    if (kind === "findings") return perProgram;
    if (kind === "bytes") return work.bytes;
    return work.lanes && work.masked?.map((masked, each) => masked / (work.lanes?.[each] || 1));
  }, [kind, work, perProgram]);
  const shown = useMemo(() => heat ?? new Float64Array(perProgram.length), [heat, perProgram]);
  const show = (value: number): string => {
    if (!heat) return "not known";
    if (kind === "bytes") return formatBytes(value);
    return kind === "masked" ? formatShare(value, 1) : formatCount(value);
  };
  const pick = (place: Place): void => choose({ p: place.join(",") });
  return (
    <div id="programs">
      <div class="launch-sliders">
        {AXES.map((name, axis) => (
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
        <div class="launch-slider">
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
          <button type="button" onClick={() => pick([grid[0] - 1, grid[1] - 1, grid[2] - 1])}>
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
      {count === perProgram.length ? (
        <WithTable
          name="Programs of the grid"
          canvas={
            <GridHeat
              grid={grid}
              heat={shown}
              findings={perProgram}
              program={program}
              show={show}
              onChoose={pick}
            />
          }
          table={() => (
            <ProgramTable
              grid={grid}
              work={work}
              findings={perProgram}
              chosen={programNumber(program, grid)}
              onChoose={(number) => pick(programPlace(number, grid))}
            />
          )}
        />
      ) : null}
      <p class="small muted">
        {formatGrid(grid)}
        {grid[1] * grid[2] > 1 ? ` = ${formatCount(count)}` : ""}{" "}
        {count === 1 ? "program" : "programs"}. Derived from the ops' accesses.{" "}
        {kind === "findings" ? "" : work.partial}
      </p>
    </div>
  );
}

function heatKind(text: string | null): "bytes" | "masked" | "findings" {
  return text === "masked" || text === "findings" ? text : "bytes";
}

function findingsByProgram(
  findings: readonly HereFinding[],
  grid: Place,
  count: number,
): Float64Array {
  const found = new Float64Array(Math.min(count, 2 ** 22));
  for (const { placed, own } of findings) {
    if (!own) continue;
    for (const program of [placed.found.program, placed.found.other_program]) {
      const number = program ? programNumber(program, grid) : null;
      if (number !== null && number < found.length) found[number] = (found[number] as number) + 1;
    }
  }
  return found;
}

function ProgramTable(props: {
  grid: Place;
  work: ReturnType<typeof gridWork>;
  findings: Float64Array;
  chosen: number | null;
  onChoose(number: number): void;
}) {
  const { grid, work, findings } = props;
  const rows = useMemo(() => Uint32Array.from(findings.keys()), [findings]);
  const columns: Column<number>[] = [
    words("Program", (row) => programText(row, grid), { key: (row) => row }),
    figure("bytes", "derived", (row) => work.bytes?.[row], formatBytes),
    {
      label: "masked lanes",
      source: "derived",
      number: true,
      cell: (row) => formatShare(work.masked?.[row], work.lanes?.[row]),
      key: (row) => (work.masked?.[row] ?? 0) / (work.lanes?.[row] || 1),
    },
    figure("findings", "derived", (row) => findings[row]),
  ];
  return (
    <Table
      id="program-table"
      caption="Programs of the grid"
      columns={columns}
      rows={rows as unknown as ArrayLike<number>}
      chosen={props.chosen}
      onChoose={props.onChoose}
      height={10}
    />
  );
}

/** The iteration of the innermost loop: a slider and a number, or all of them. */
export function IterationSlider(props: { last: number }) {
  const value = chosenNumber("it");
  return (
    <Slider
      id="iterations"
      name="Iteration"
      label="Iteration of the loop"
      size={props.last + 1}
      value={value}
      onChange={(it) => choose({ it })}
    >
      <button type="button" aria-pressed={value === null} onClick={() => choose({ it: null })}>
        All iterations
      </button>
    </Slider>
  );
}
