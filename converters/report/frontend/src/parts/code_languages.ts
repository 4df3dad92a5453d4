// Colors for code: modes that know what tokens look like, not the grammar.

import { StreamLanguage } from "@codemirror/language";
import { python } from "@codemirror/legacy-modes/mode/python";
import { simpleMode } from "@codemirror/legacy-modes/mode/simple-mode";
import { tags } from "@lezer/highlight";

export type Language = "python" | "compiled" | "plain";

/** MLIR, LLVM's IR and assembly: what looks alike in them is colored alike. */
const COMPILED: readonly (readonly [pattern: RegExp, token: string | null])[] = [
  [/^loc\((?:#\w+|"[^"]*"(?::\d+)*(?:\([^)]*\))?|unknown|callsite\([^()]*\))\)/, "comment"],
  [/^(?:\/\/|;|#\w+ = loc\(|!dbg !\d|\.loc\b).*/, "comment"],
  [/^"(?:[^"\\]|\\.)*"/, "string"],
  [/^[%^](?:"[^"]*"|[\w$.-]+)(?:#\d+)?/, "variableName"],
  [/^@!?%p\w+/, "meta"],
  [/^@(?:"[^"]*"|[\w$.]+)/, "variableName"],
  [/^[svad](?:\d+|\[\d+:\d+\])(?=[\s,;)]|$)/, "variableName"],
  [/^!?(?:tensor|tt\.ptr|memref|vector|memdesc|!\w+(?:\.\w+)*)(?=<)/, "typeName"],
  [
    /^(?:(?:[fiu]|bf|tf|si|ui)\d+(?:E\d+M\d+\w*)?|index|half|bfloat|float|double|ptr|void)\b/,
    "typeName",
  ],
  [/^[#!][\w.]+/, "meta"],
  [/^\$?[A-Za-z_][\w$.]*:/, "meta"],
  [/^\.[a-z]\w*/, "typeName"],
  [/^-?(?:0[xfd][\dA-Fa-f]+|\d[\w.]*(?:e[+-]?\d+)?)/i, "number"],
  [/^[a-z_]\w*(?:\.\w+)*/, "keyword"],
  [/^[A-Za-z_]\w*/, null],
];

const MODES = {
  // plain names have no color
  python: StreamLanguage.define({
    ...python,
    tokenTable: { variable: tags.name, property: tags.name },
  }),
  compiled: StreamLanguage.define(
    simpleMode({ start: COMPILED.map(([regex, token]) => ({ regex, token })) }),
  ),
  plain: [],
};

export function languageMode(language: Language) {
  return MODES[language];
}

/** The language of a compiler stage, by its name in the trace. */
export function stageLanguage(stage: string): Language {
  if (stage === "source") return "python";
  return /ttir|ttgir|mlir|hlo|llir|ptx|amdgcn|sass/.test(stage) ? "compiled" : "plain";
}
