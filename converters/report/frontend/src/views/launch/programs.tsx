// Choosing a program: sliders for x, y and z, and the grid as a heat map.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";

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

export function Programs(props: ProgramsProps): JSX.Element {
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
          <AxisSlider
            key={name}
            name={name}
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
              onChoose={(number) => pick(placeOfNumber(number, grid))}
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

function placeOfNumber(number: number, grid: Place): Place {
  const rest = Math.floor(number / grid[0]);
  return [number % grid[0], rest % grid[1], Math.floor(rest / grid[1])];
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

function AxisSlider(props: {
  name: string;
  size: number;
  value: number | null;
  onChange(value: number): void;
}): JSX.Element {
  const { name, size, value } = props;
  const change = (text: string): void => {
    const number = Math.round(Number(text));
    if (text !== "" && Number.isFinite(number))
      props.onChange(Math.min(Math.max(number, 0), size - 1));
  };
  return (
    <div class="launch-slider">
      <span aria-hidden="true">{name}</span>
      <input
        type="range"
        aria-label={`Program ${name}, slider`}
        min="0"
        max={size - 1}
        disabled={size < 2}
        value={value ?? 0}
        onInput={(event) => change(event.currentTarget.value)}
      />
      <input
        type="number"
        aria-label={`Program ${name}`}
        data-axis={name}
        min="0"
        max={size - 1}
        disabled={size < 2}
        value={value ?? ""}
        placeholder="all"
        onChange={(event) => change(event.currentTarget.value)}
      />
      <span class="muted small">of {formatCount(size)}</span>
    </div>
  );
}

function ProgramTable(props: {
  grid: Place;
  work: ReturnType<typeof gridWork>;
  findings: Float64Array;
  chosen: number | null;
  onChoose(number: number): void;
}): JSX.Element {
  const { grid, work, findings } = props;
  const rows = useMemo(() => Uint32Array.from(findings.keys()), [findings]);
  const columns: Column<number>[] = [
    {
      label: "Program",
      cell: (row) => programText(row, grid),
      key: (row) => row,
      text: (row) => programText(row, grid),
    },
    {
      label: "bytes",
      source: "derived",
      number: true,
      cell: (row) => formatBytes(work.bytes?.[row]),
      key: (row) => work.bytes?.[row],
    },
    {
      label: "masked lanes",
      source: "derived",
      number: true,
      cell: (row) => formatShare(work.masked?.[row], work.lanes?.[row]),
      key: (row) => (work.masked?.[row] ?? 0) / (work.lanes?.[row] || 1),
    },
    {
      label: "findings",
      source: "derived",
      number: true,
      cell: (row) => formatCount(findings[row]),
      key: (row) => findings[row],
    },
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
export function IterationSlider(props: { last: number }): JSX.Element {
  const value = chosenNumber("it");
  const change = (text: string): void => {
    const number = Math.round(Number(text));
    if (text !== "" && Number.isFinite(number))
      choose({ it: Math.min(Math.max(number, 0), props.last) });
  };
  return (
    <div class="launch-slider" id="iterations">
      <span>Iteration</span>
      <input
        type="range"
        aria-label="Iteration of the loop, slider"
        min="0"
        max={props.last}
        value={value ?? 0}
        onInput={(event) => change(event.currentTarget.value)}
      />
      <input
        type="number"
        aria-label="Iteration of the loop"
        min="0"
        max={props.last}
        value={value ?? ""}
        placeholder="all"
        onChange={(event) => change(event.currentTarget.value)}
      />
      <span class="muted small">of {formatCount(props.last + 1)}</span>
      <button type="button" aria-pressed={value === null} onClick={() => choose({ it: null })}>
        All iterations
      </button>
    </div>
  );
}
