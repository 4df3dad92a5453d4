// What each program accesses of a slice, as a box of rows and columns.

import type { Comb } from "./combs";
import { combsOf, type Counted } from "./counts";
import { type Look, placeOf } from "./look";

type Ends = readonly [first: number, end: number];

export interface Tile {
  readonly rows: Ends;
  readonly columns: Ends;
  /** Programs whose box it is. */
  readonly programs: readonly number[];
}

/** Of grids with more programs no tiles are drawn: they would be too small to be seen. */
export const MOST_TILED = 1024;

/** The boxes of programs in a slice, those of several programs once; null where there are too many. */
export function tilesOf(
  touched: Counted,
  look: Look,
  slice: number,
  programs: number,
  iteration: number | null,
): readonly Tile[] | null {
  if (programs > MOST_TILED) return null;
  const tiles = new Map<string, Tile>();
  for (let program = 0; program < programs; program += 1) {
    const boxes = combsOf(touched, { program, iteration }).map((comb) => boxOf(comb, look, slice));
    const own = boxes.flatMap((box) => box ?? []);
    if (!own.length) continue;
    const around = (of: "rows" | "columns"): Ends => [
      Math.min(...own.map((box) => box[of][0])),
      Math.max(...own.map((box) => box[of][1])),
    ];
    const [rows, columns] = [around("rows"), around("columns")];
    const key = `${rows.join()} ${columns.join()}`;
    const before = tiles.get(key)?.programs ?? [];
    tiles.set(key, { rows, columns, programs: [...before, program] });
  }
  return [...tiles.values()];
}

/** The rows and columns of a comb's first place to its last; null where it is in no one slice. */
function boxOf(comb: Comb, look: Look, slice: number): Omit<Tile, "programs"> | null {
  const { rows, columns } = look;
  const [first, last] = [placeOf(look, comb.start), placeOf(look, comb.last)];
  const [row, column, own] = first ?? [];
  const [lastRow, lastColumn, lastOwn] = last ?? [];
  if (row === undefined || column === undefined || lastRow === undefined) return null;
  if (lastColumn === undefined || (look.slices && (own !== slice || lastOwn !== slice)))
    return null;
  // what runs on over the end of a line is in lines that are whole
  const [minor, major] = rows.stride >= columns.stride ? [columns, rows] : [rows, columns];
  const inLine = comb.levels.filter(([, step]) => step < major.stride);
  const reach = inLine.reduce((sum, [count, step]) => sum + (count - 1) * step, 0);
  const at = (minor === columns ? column : row) * minor.stride;
  const over = at + reach >= minor.size * minor.stride;
  const along: Ends = [Math.min(column, lastColumn), Math.max(column, lastColumn) + 1];
  const down: Ends = [Math.min(row, lastRow), Math.max(row, lastRow) + 1];
  return {
    rows: over && minor === rows ? [0, rows.size] : down,
    columns: over && minor === columns ? [0, columns.size] : along,
  };
}
