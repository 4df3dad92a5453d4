// What is chosen in this view, as it stands in the address.

import { chosenNumber, setQuery } from "../../app/router";
import type { SourceFile, Stage, Variant } from "../../data/types";

/** A line of the source or of the compiler stage that is shown. */
export interface Place {
  readonly pane: "source" | "stage";
  readonly line: number;
}

/** The line that the address holds: `line` of the source, or `ir` of the stage. */
export function heldPlace(): Place | null {
  const [source, stage] = [chosenNumber("line"), chosenNumber("ir")];
  if (source !== null) return { pane: "source", line: source };
  return stage === null ? null : { pane: "stage", line: stage };
}

/** Hold a line, or none; `file` is the place of its file in the variant's. */
export function holdPlace(place: Place | null, file: number | null): void {
  setQuery({
    line: place?.pane === "source" ? place.line : null,
    ir: place?.pane === "stage" ? place.line : null,
    file: file || null,
  });
}

/** Files whose text is on the page. */
export function shownFiles(variant: Variant): readonly SourceFile[] {
  return variant.files.filter((file) => file.text !== null);
}

/** Stages with text, the generic TTIR only for want of the readable one. */
export function shownStages(variant: Variant): readonly Stage[] {
  const withText = variant.stages.filter(
    (stage) => stage.text !== null && stage.stage !== "source",
  );
  const readable = withText.some((stage) => stage.stage === "ttir");
  return withText.filter((stage) => stage.stage !== "ttir_generic" || !readable);
}

const STAGE_TITLES: Readonly<Record<string, string>> = {
  ttir: "TTIR",
  ttir_generic: "TTIR (generic)",
  ttgir: "TTGIR",
  llir: "LLIR",
  ptx: "PTX",
  amdgcn: "AMDGCN",
  sass: "SASS",
};

export function stageTitle(stage: string): string {
  return STAGE_TITLES[stage] ?? stage;
}
