// The grid of programs as a heat map; a click or the arrow keys choose a program.

import { useCallback, useState } from "preact/hooks";

import { Canvas, type Drawing } from "../../parts/canvas";
import { heatColour } from "../../parts/colours";
import { STEPS } from "../../parts/pointing";
import { type Place, programText } from "./state";

interface GridHeatProps {
  readonly grid: Place;
  /** A figure for each program; null: not known. */
  readonly heat: Float64Array | null;
  readonly findings: Float64Array;
  /** Programs by their numbers. */
  readonly program: number | null;
  show(program: number): string;
  onChoose(program: number): void;
}

/** A flat grid is wrapped from this many programs on. */
const FLAT = 64;
const LARGEST = 48;

/** The programs of one z: so many across, so many down. */
interface Sheet {
  readonly across: number;
  readonly down: number;
  readonly first: number;
  readonly count: number;
}

function sheetOf(grid: Place, program: number | null): Sheet {
  const count = grid[0] * grid[1];
  const wraps = grid[1] === 1 && grid[0] > FLAT;
  const across = wraps ? 2 ** Math.ceil(Math.log2(Math.sqrt(2 * count))) : grid[0];
  const first = Math.floor((program ?? 0) / count) * count;
  return { across, down: Math.ceil(count / across), first, count };
}

export function GridHeat({ grid, heat, findings, program, show, onChoose }: GridHeatProps) {
  const sheet = sheetOf(grid, program);
  const [said, setSaid] = useState("");
  const draw = useCallback(
    (drawing: Drawing) => paintGrid(drawing, sheetOf(grid, program), heat, findings, program),
    [heat, findings, program],
  );

  function under(event: MouseEvent): number | null {
    const { clientWidth, clientHeight } = event.currentTarget as HTMLCanvasElement;
    const [wide, tall] = cellSize(sheet, clientWidth, clientHeight);
    const column = Math.floor(event.offsetX / wide);
    const place = Math.floor(event.offsetY / tall) * sheet.across + column;
    return column < sheet.across && place < sheet.count ? sheet.first + place : null;
  }

  function onKeyDown(event: KeyboardEvent): void {
    const arrow = STEPS[event.key];
    if (!arrow || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const next = program === null ? sheet.first : program + arrow[0] + arrow[1] * sheet.across;
    if (next >= sheet.first && next < sheet.first + sheet.count) onChoose(next);
  }

  return (
    <div class="canvas-box">
      <Canvas
        id="grid-heat"
        label="The grid's programs, hotter where the figure is larger. Arrow keys choose a program."
        height={Math.min(Math.max(sheet.down * 16, 32), 220)}
        draw={draw}
        tabIndex={0}
        title={said}
        onKeyDown={onKeyDown}
        onPointerMove={(event) => {
          const number = under(event);
          setSaid(number === null ? "" : `${programText(number, grid)}: ${show(number)}`);
        }}
        onClick={(event) => {
          const number = under(event);
          if (number !== null) onChoose(number);
        }}
      />
    </div>
  );
}

function cellSize(sheet: Sheet, width: number, height: number): [number, number] {
  return [Math.min(width / sheet.across, LARGEST), Math.min(height / sheet.down, LARGEST)];
}

function paintGrid(
  { context, width, height, colours }: Drawing,
  sheet: Sheet,
  heat: Float64Array | null,
  findings: Float64Array,
  chosen: number | null,
): void {
  context.fillStyle = colours.back;
  context.fillRect(0, 0, width, height);
  const [wide, tall] = cellSize(sheet, width, height);
  const most = heat?.reduce((top, value) => Math.max(top, value), 0) || 1;
  // several programs share a cell of the picture where there are more of them than pixels
  const across = Math.min(sheet.across, Math.ceil(width));
  const down = Math.min(sheet.down, Math.ceil(height));
  const hottest = new Float64Array(across * down).fill(-1);
  for (let place = 0; place < sheet.count; place += 1) {
    const column = Math.floor(((place % sheet.across) * across) / sheet.across);
    const row = Math.floor((Math.floor(place / sheet.across) * down) / sheet.down);
    const cell = row * across + column;
    hottest[cell] = Math.max(hottest[cell] as number, heat?.[sheet.first + place] ?? 0);
  }
  const [cellWide, cellTall] = [(wide * sheet.across) / across, (tall * sheet.down) / down];
  const gap = cellWide > 5 && cellTall > 5 ? 1 : 0;
  hottest.forEach((value, cell) => {
    if (value < 0) return;
    context.fillStyle = value > 0 ? heatColour(0.2 + (0.8 * value) / most) : colours.track;
    const [x, y] = [(cell % across) * cellWide, Math.floor(cell / across) * cellTall];
    context.fillRect(x, y, cellWide - gap, cellTall - gap);
  });
  const ring = (place: number, colour: string, inset: number): void => {
    const [x, y] = [(place % sheet.across) * wide, Math.floor(place / sheet.across) * tall];
    const room = (size: number): number => Math.max(size - gap - 2 * inset, 3);
    context.lineWidth = 2;
    context.strokeStyle = colour;
    context.strokeRect(x + inset, y + inset, room(wide), room(tall));
  };
  for (let place = 0; place < sheet.count; place += 1) {
    if (findings[sheet.first + place]) ring(place, colours.error, 1);
  }
  if (chosen === null) return;
  ring(chosen - sheet.first, colours.back, 0);
  ring(chosen - sheet.first, colours.accent, 2);
}
