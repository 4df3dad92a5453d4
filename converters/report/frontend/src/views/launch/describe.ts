// What is said of a place of a tensor.

import { formatCount, shortText, threeFigures } from "../../data/format";
import { countAt } from "./counts";
import type { Executions } from "./layout";
import type { Scene } from "./map_paint";
import { type Touched, ownIndex } from "./scene";
import { type Place, programText } from "./state";
import { isInside } from "./tensor";
import { touchesOf } from "./touching";

/** Its index, element and byte, how often and by whom it is accessed, and its value. */
export function placeText(
  { look, counts, marks, values }: Scene,
  touched: Touched,
  wanted: Executions,
  grid: Place,
  offset: number,
): string {
  const bytes = offset * touched.unit;
  const many = countAt(counts, offset);
  const touches = many
    ? touchesOf(touched.accesses, wanted, bytes, touched.width * touched.unit, 4)
    : [];
  const programs = [...new Set(touches.map(({ program }) => programText(program, grid)))];
  const mark = marks.find((each) => each.offset === offset);
  const value = values?.at(bytes);
  return [
    isInside(look, offset)
      ? `${shortText(touched.name, 40)}[${ownIndex(touched, offset).join(", ")}]`
      : `outside of ${shortText(touched.name, 40)}`,
    `element ${formatCount(offset)}`,
    `byte ${formatCount(bytes)}`,
    `${formatCount(many)} ${many === 1 ? "access" : "accesses"}`,
    programs.length ? `by ${programs.slice(0, 3).join(" ")}${programs.length > 3 ? " …" : ""}` : "",
    value === null || value === undefined ? "" : `value ${threeFigures(value)}`,
    mark ? shortText(mark.text, 160) : "",
  ]
    .filter(Boolean)
    .join(" · ");
}
