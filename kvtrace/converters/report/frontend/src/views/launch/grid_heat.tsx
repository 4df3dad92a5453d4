// The grid of programs as a heat map; a click or the arrow keys choose a program.

import { useCallback, useState } from "preact/hooks";

import { Canvas, type Drawing } from "../../parts/canvas";
import { heatColour } from "../../parts/colours";
import { type Place, programNumber, programPlace } from "./state";

interface GridHeatProps {
  readonly grid: Place;
  /** A figure for each program. */
  readonly heat: Float64Array;
  readonly findings: Float64Array;
  readonly program: Place | null;
  show(value: number): string;
  onChoose(place: Place): void;
}

/** A flat grid is wrapped from this many programs on. */
const FLAT = 64;

/** The programs of one z: so many across, so many down. */
interface Sheet {
  readonly across: number;
  readonly down: number;
  readonly first: number;
  readonly count: number;
}

function sheetOf(grid: Place, z: number): Sheet {
  const count = grid[0] * grid[1];
  const wraps = grid[1] === 1 && grid[0] > FLAT;
  const across = wraps ? 2 ** Math.ceil(Math.log2(Math.sqrt(2 * count))) : grid[0];
  return { across, down: Math.ceil(count / across), first: z * count, count };
}

export function GridHeat(props: GridHeatProps) {
  const { grid, heat, findings, program } = props;
  const z = program?.[2] ?? 0;
  const sheet = sheetOf(grid, z);
  const height = Math.min(Math.max(sheet.down * 16, 32), 220);
  const [said, setSaid] = useState("");

  const draw = useCallback(
    (drawing: Drawing) =>
      paintGrid(drawing, sheetOf(grid, z), heat, findings, programNumber(program, grid)),
    [heat, findings, program?.join(), z],
  );

  function under(event: PointerEvent): number | null {
    const canvas = event.currentTarget as HTMLCanvasElement;
    const [wide, tall] = cellSize(sheet, canvas.clientWidth, canvas.clientHeight);
    const column = Math.floor(event.offsetX / wide);
    const place = Math.floor(event.offsetY / tall) * sheet.across + column;
    return column < sheet.across && place < sheet.count ? sheet.first + place : null;
  }

  function onKeyDown(event: KeyboardEvent): void {
    const steps: Record<string, number> = {
      ArrowLeft: -1,
      ArrowRight: 1,
      ArrowUp: -sheet.across,
      ArrowDown: sheet.across,
    };
    const step = steps[event.key];
    if (step === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const next = (programNumber(program, grid) ?? sheet.first - step) + step;
    if (next >= sheet.first && next < sheet.first + sheet.count)
      props.onChoose(programPlace(next, grid));
  }

  return (
    <div class="canvas-box">
      <Canvas
        id="grid-heat"
        label="The grid's programs, hotter where the figure is larger. Arrow keys choose a program."
        height={height}
        draw={draw}
        tabIndex={0}
        title={said}
        onKeyDown={onKeyDown}
        onPointerMove={(event) => {
          const number = under(event);
          setSaid(
            number === null
              ? ""
              : `(${programPlace(number, grid).join(", ")}): ${props.show(heat[number] ?? 0)}`,
          );
        }}
        onClick={(event) => {
          const number = under(event as unknown as PointerEvent);
          if (number !== null) props.onChoose(programPlace(number, grid));
        }}
      />
    </div>
  );
}

function cellSize(sheet: Sheet, width: number, height: number): [number, number] {
  return [Math.min(width / sheet.across, 48), Math.min(height / sheet.down, 48)];
}

function paintGrid(
  { context, width, height, colours }: Drawing,
  sheet: Sheet,
  heat: Float64Array,
  findings: Float64Array,
  chosen: number | null,
): void {
  context.fillStyle = colours.back;
  context.fillRect(0, 0, width, height);
  const [wide, tall] = cellSize(sheet, width, height);
  const most = heat.reduce((top, value) => Math.max(top, value), 0) || 1;
  // several programs share a cell of the picture where there are more of them than pixels
  const [across, down] = [
    Math.min(sheet.across, Math.ceil(width)),
    Math.min(sheet.down, Math.ceil(height)),
  ];
  const hottest = new Float64Array(across * down).fill(-1);
  for (let place = 0; place < sheet.count; place += 1) {
    const column = Math.floor(((place % sheet.across) * across) / sheet.across);
    const row = Math.floor((Math.floor(place / sheet.across) * down) / sheet.down);
    const cell = row * across + column;
    hottest[cell] = Math.max(hottest[cell] as number, heat[sheet.first + place] ?? 0);
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
    context.lineWidth = 2;
    context.strokeStyle = colour;
    context.strokeRect(
      x + inset,
      y + inset,
      Math.max(wide - gap - 2 * inset, 3),
      Math.max(tall - gap - 2 * inset, 3),
    );
  };
  for (let place = 0; place < sheet.count; place += 1) {
    if (findings[sheet.first + place]) ring(place, colours.error, 1);
  }
  const place = chosen === null ? -1 : chosen - sheet.first;
  if (place < 0 || place >= sheet.count) return;
  ring(place, colours.back, 0);
  ring(place, colours.accent, 2);
}
