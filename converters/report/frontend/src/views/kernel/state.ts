// What is chosen in this view, as the address has it.

import { chosenNumber, type Query, setQuery } from "../../app/router";
import type { SourceFile, Stage, Variant } from "../../data/types";

/** What holds the line of a pane in the address: the source, or a stage on the left or the right. */
const HELD = { source: "line", left: "beside", stage: "ir" } as const;

/** A line of the source or of a compiler stage that is shown. */
export interface Place {
  readonly pane: keyof typeof HELD;
  readonly line: number;
}

const PANES = ["source", "left", "stage"] as const;

/** The line that the address holds. */
export function heldPlace(): Place | null {
  for (const pane of PANES) {
    const line = chosenNumber(HELD[pane]);
    if (line !== null) return { pane, line };
  }
  return null;
}

/** Hold a line, or none; `file` is the place of its file in the variant's. */
export function holdPlace(place: Place | null, file: number | null): void {
  const lines = PANES.map((pane) => [HELD[pane], place?.pane === pane ? place.line : null]);
  setQuery({ ...(Object.fromEntries(lines) as Query), file: file || null });
}

/** Files whose text is on the page. */
export function shownFiles(variant: Variant): readonly SourceFile[] {
  return variant.files.filter((file) => file.text !== null);
}

/** Stages with text, the generic form of one only for want of the readable one. */
export function shownStages(variant: Variant): readonly Stage[] {
  const withText = variant.stages.filter(
    (stage) => stage.text !== null && stage.stage !== "source",
  );
  const names = new Set(withText.map((stage) => stage.stage));
  return withText.filter(
    ({ stage }) => !stage.endsWith("_generic") || !names.has(stage.replace("_generic", "")),
  );
}

const STAGE_TITLES: Readonly<Record<string, string>> = {
  ttir: "TTIR",
  ttir_generic: "TTIR (generic)",
  glir: "GLIR",
  ttgir: "TTGIR",
  ttgir_generic: "TTGIR (generic)",
  llir: "LLIR",
  ptx: "PTX",
  amdgcn: "AMDGCN",
  sass: "SASS",
};

export function stageTitle(stage: string): string {
  return STAGE_TITLES[stage] ?? stage;
}
