// The part of the runs that figures are of, as phrases.

import { plural } from "../data/format";
import { page } from "../data/page";

/** Steps of all runs; of each run if all have as many. */
export function stepsText(number: number, runs: number): string {
  if (runs > 1 && number % runs === 0)
    return `${plural(number / runs, "step")} of each of ${plural(runs, "run")}`;
  return plural(number, "step") + (runs > 1 ? ` of ${plural(runs, "run")}` : "");
}

/** "in 34 steps", "in the chosen part", or "" if figures are of the whole runs. */
export function inWindow(): string {
  const { window } = page.report;
  if (!window || window.how === "whole") return "";
  return window.steps ? `in ${stepsText(window.steps, window.runs)}` : "in the chosen part";
}
