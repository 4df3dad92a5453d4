// Choosing a program: sliders for x, y and z, and the grid as a heat map.

import { useMemo } from "preact/hooks";
import { chosen, chosenNumber, setQuery } from "../../app/router";
import { formatGrid, formatted, plural } from "../../data/format";
import type { CallOps } from "../../data/types";
import { WithTable } from "../../parts/beside";
import { type Colors, heatColor, rgbOf } from "../../parts/colors";
import { figure, words } from "../../parts/columns";
import { Play } from "../../parts/play";
import { AddressChoice } from "../../parts/search";
import { Slider } from "../../parts/slider";
import { Table } from "../../parts/table";
import { CellMap, type Ring } from "../../parts/cell_map";
import { binStart, type Span } from "../../data/tensors";
import type { HereFinding } from "./findings";
import { gridWork, MOST_PROGRAMS } from "../../accesses/grid_work";
import { chosenProgram, type Place, programNumber, programQuery, programText } from "./state";

interface ProgramsProps {
  readonly block: CallOps;
  readonly grid: Place;
  readonly findings: readonly HereFinding[];
  /** The chosen op, for heat of that op alone. */
  readonly op: number | null;
}

const HEATS = [
  ["bytes", "work (bytes)"],
  ["masked", "masked share"],
  ["findings", "findings"],
] as const;
const SCOPES = [
  ["all", "all ops"],
  ["op", "the chosen op"],
] as const;
/** The unit of what the grid is colored by. */
const HEAT = { bytes: "bytes", masked: "share", findings: "count" } as const;

export function Programs({ block, grid, findings, op }: ProgramsProps) {
  const count = grid[0] * grid[1] * grid[2];
  const asked = chosen("heat");
  const kind = asked === "masked" || asked === "findings" ? asked : "bytes";
  const only = chosen("scope") === "op" ? op : null;
  const place = chosenProgram(grid);
  const program = programNumber(place, grid);
  const work = useMemo(() => gridWork(block, count, only), [block, count, only]);
  const found = useMemo(() => findingsByProgram(findings, grid, count), [findings, grid]);
  const rows = useMemo(() => Uint32Array.from(found.keys()), [found]);
  const heat = { bytes: work.bytes, masked: work.masked, findings: found }[kind];
  const choose = (each: number): void => setQuery({ p: programQuery(each, grid) });
  const next = (): boolean => {
    const at = (program ?? -1) + 1;
    if (at < count) choose(at);
    return at < count - 1;
  };
  const said = (each: number): string => (heat ? formatted(heat[each], HEAT[kind]) : "not known");
  return (
    <div id="programs">
      <div class="launch-sliders">
        {(["x", "y", "z"] as const).map((name, axis) =>
          axis > 0 && grid[axis] === 1 ? null : (
            <Slider
              key={name}
              name={name}
              label={`Program ${name}`}
              size={grid[axis] ?? 1}
              value={place?.[axis] ?? null}
              onChange={(value) =>
                setQuery({ p: (place ?? [0, 0, 0]).with(axis, value).join(",") })
              }
            />
          ),
        )}
        <div class="slider">
          <button
            type="button"
            id="all-programs"
            aria-pressed={place === null}
            onClick={() => setQuery({ p: null })}
          >
            All programs
          </button>
          <Play what="programs" step={next} />
        </div>
      </div>
      <div class="toolbar">
        <AddressChoice label="Grid colored by" name="heat" options={HEATS} />
        <AddressChoice label="Of" name="scope" options={SCOPES} />
      </div>
      {count > MOST_PROGRAMS ? null : (
        <WithTable
          name="Programs of the grid"
          canvas={
            <GridMap
              grid={grid}
              heat={heat}
              findings={found}
              program={program}
              describe={(each) => `${programText(each, grid)}: ${said(each)}`}
              onChoose={choose}
            />
          }
          table={() => (
            <Table<number>
              id="program-table"
              caption="Programs of the grid"
              columns={[
                words("Program", (row) => programText(row, grid), { key: (row) => row }),
                figure("bytes", "derived", (row) => work.bytes?.[row], "bytes"),
                figure("masked lanes", "derived", (row) => work.masked?.[row], "share"),
                figure("findings", "derived", (row) => found[row]),
              ]}
              rows={rows}
              chosen={program}
              onChoose={choose}
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

interface GridMapProps {
  readonly grid: Place;
  /** A figure for each program; null: not known. */
  readonly heat: Float64Array | null;
  readonly findings: Float64Array;
  readonly program: number | null;
  describe(program: number): string;
  onChoose(program: number): void;
}

/** A flat grid is wrapped from this many programs on. */
const FLAT = 64;

/** The programs of one z. */
function GridMap({ grid, heat, findings, program, describe, onChoose }: GridMapProps) {
  const count = grid[0] * grid[1];
  const wraps = grid[1] === 1 && grid[0] > FLAT;
  const across = wraps ? 2 ** Math.ceil(Math.log2(Math.sqrt(2 * count))) : grid[0];
  const down = Math.ceil(count / across);
  const first = Math.floor((program ?? 0) / count) * count;
  const cell = (each: number) =>
    [Math.floor((each - first) / across), (each - first) % across] as const;
  const numberOf = (row: number, column: number): number | null =>
    row * across + column < count ? first + row * across + column : null;
  const rings = useMemo(() => {
    const own = findings.subarray(first, first + count);
    const ring = (each: number, color: Ring["color"]): Ring => {
      const [row, column] = cell(each);
      return { row, column, color };
    };
    const found = [...own.keys()].filter((place) => own[place]);
    return [
      ...found.map((place) => ring(first + place, "error")),
      ...(program === null ? [] : [ring(program, "accent")]),
    ];
  }, [findings, first, program]);
  const painter = useMemo(() => {
    const most = heat?.reduce((top, value) => Math.max(top, value), 0) || 1;
    return (rows: Span, columns: Span, colors: Colors) => (bin: number) => {
      const [low, left] = [Math.floor(bin / columns.bins), bin % columns.bins];
      let hottest = -1;
      for (let row = binStart(rows, low); row < binStart(rows, low + 1); row += 1)
        for (let at = binStart(columns, left); at < binStart(columns, left + 1); at += 1) {
          const each = numberOf(row, at);
          if (each !== null) hottest = Math.max(hottest, heat?.[each] ?? 0);
        }
      if (hottest < 0) return null;
      return rgbOf(hottest > 0 ? heatColor(0.2 + (0.8 * hottest) / most) : colors.track);
    };
  }, [heat, first]);
  return (
    <CellMap
      id="grid-heat"
      label="The grid's programs, in hotter colors for larger figures"
      height={Math.min(Math.max(down * 16, 32), 220)}
      rows={[0, down]}
      columns={across}
      rings={rings}
      chosen={program === null ? null : cell(program)}
      resetOn={grid}
      painter={painter}
      describe={(row, column) => {
        const each = numberOf(row, column);
        return each === null ? null : describe(each);
      }}
      onChoose={(row, column) => {
        const each = numberOf(row, column);
        if (each !== null) onChoose(each);
      }}
      onLeave={() => setQuery({ p: null })}
    />
  );
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
      onChange={(it) => setQuery({ it })}
    >
      <button type="button" aria-pressed={value === null} onClick={() => setQuery({ it: null })}>
        All iterations
      </button>
      <Play
        what="iterations"
        step={() => {
          const it = Math.min((value ?? -1) + 1, last);
          setQuery({ it });
          return it < last;
        }}
      />
    </Slider>
  );
}
