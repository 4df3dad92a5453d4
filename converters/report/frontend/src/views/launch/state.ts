// What is chosen in the view, as the address has it.

import { chosen } from "../../app/router";

/** A tensor as it is: what is chosen of the way to look at it is taken out. */
export const AS_IT_IS = { shape: null, axes: null, at: null, slice: null };

export type Place = readonly [x: number, y: number, z: number];

/** The chosen program; null for all of them. Outside of the grid is its nearest program. */
export function chosenProgram(grid: Place): Place | null {
  const text = chosen("p");
  if (text === null || !/^\d+(,\d+){0,2}$/.test(text)) return null;
  const parts = text.split(",").map(Number);
  const [x, y, z] = grid.map((size, axis) => Math.min(parts[axis] ?? 0, size - 1));
  return [x ?? 0, y ?? 0, z ?? 0];
}

/** Programs are numbered with x fastest. */
export function programNumber(place: Place | null, grid: Place): number | null {
  return place ? place[0] + grid[0] * (place[1] + grid[1] * place[2]) : null;
}

export function programPlace(number: number, grid: Place): Place {
  const rest = Math.floor(number / grid[0]);
  return [number % grid[0], rest % grid[1], Math.floor(rest / grid[1])];
}

export function programText(number: number | null, grid: Place): string {
  return number === null ? "not known" : `(${programPlace(number, grid).join(", ")})`;
}

/** A program as the address has it. */
export function programQuery(number: number | null, grid: Place): string | null {
  return number === null ? null : programPlace(number, grid).join(",");
}
