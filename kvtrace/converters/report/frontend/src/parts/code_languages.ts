// Colours for code: small modes, a line at a time. They know what tokens look like, not the grammar.

import { StreamLanguage, type StringStream } from "@codemirror/language";

export type Language = "python" | "compiled" | "plain";

type Rules = readonly (readonly [pattern: RegExp, token: string | null])[];

const PYTHON_WORDS =
  /^(?:and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield|None|True|False)\b/;

const PYTHON: Rules = [
  [/^#.*/, "comment"],
  [/^@[\w.]+/, "meta"],
  [/^[rbfu]*"(?:[^"\\]|\\.)*"?/i, "string"],
  [/^[rbfu]*'(?:[^'\\]|\\.)*'?/i, "string"],
  [PYTHON_WORDS, "keyword"],
  [/^[A-Za-z_]\w*(?=\s*\()/, "variableName.function"],
  [/^[A-Za-z_]\w*/, null],
  [/^\d[\w.]*/, "number"],
];

/** MLIR, LLVM's IR and assembly: what looks alike in them is coloured alike. */
const COMPILED: Rules = [
  [/^loc\((?:#\w+|"[^"]*"(?::\d+)*(?:\([^)]*\))?|unknown|callsite\([^()]*\))\)/, "comment"],
  [/^(?:\/\/|;|#\w+ = loc\(|!dbg !\d|\.loc\b).*/, "comment"],
  [/^"(?:[^"\\]|\\.)*"/, "string"],
  [/^[%^](?:"[^"]*"|[\w$.-]+)(?:#\d+)?/, "variableName"],
  [/^@!?%p\w+/, "meta"],
  [/^@(?:"[^"]*"|[\w$.]+)/, "variableName.function"],
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

/** Ordinary lines are short; what a line this long holds is not worth colouring. */
const LONGEST_COLOURED = 4000;

interface State {
  /** The quotes of a Python string that goes over several lines. */
  quotes: string | null;
}

function mode(rules: Rules, tripleQuotes = false): StreamLanguage<State> {
  return StreamLanguage.define<State>({
    startState: () => ({ quotes: null }),
    token(stream, state) {
      if (stream.string.length > LONGEST_COLOURED) {
        stream.skipToEnd();
        return null;
      }
      if (state.quotes) return quoted(stream, state);
      if (stream.eatSpace()) return null;
      if (tripleQuotes) {
        const opened = stream.match(/^[rbfu]*("""|''')/i) as RegExpMatchArray | null;
        if (opened) {
          state.quotes = opened[1] ?? '"""';
          return quoted(stream, state);
        }
      }
      for (const [pattern, token] of rules) if (stream.match(pattern)) return token;
      stream.next();
      return null;
    },
  });
}

/** The rest of a string in triple quotes, or of its line. */
function quoted(stream: StringStream, state: State): string {
  const at = stream.string.indexOf(state.quotes ?? "", stream.pos);
  if (at < 0) {
    stream.skipToEnd();
  } else {
    stream.pos = at + 3;
    state.quotes = null;
  }
  return "string";
}

const MODES = { python: mode(PYTHON, true), compiled: mode(COMPILED) };

export function languageMode(language: Language): StreamLanguage<State> | null {
  return language === "plain" ? null : MODES[language];
}

/** The language of a compiler stage, by its name in the trace. */
export function stageLanguage(stage: string): Language {
  if (stage === "source") return "python";
  return /ttir|ttgir|mlir|hlo|llir|ptx|amdgcn|sass/.test(stage) ? "compiled" : "plain";
}
