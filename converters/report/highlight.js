"use strict";
// Colours for code: one regular expression a language, a line at a time, text only.

const PYTHON_TOKENS = /(?<comment>#.*)|(?<string>[rbfu]*(?:"""|'''|"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?))|(?<decorator>^\s*@[\w.]+)|(?<keyword>\b(?:and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield|None|True|False)\b)|(?<number>\b\d[\w.]*)/g;
const MLIR_TOKENS = /(?<location> ?loc\((?:#\w+|"[^"]*"(?::\d+)*(?:\([^)]*\))?|unknown|callsite\([^()]*\))\))|(?<comment>\/\/.*)|(?<string>"(?:[^"\\]|\\.)*")|(?<name>[%^]\w+(?:#\d+)?)|(?<type>!?\b(?:tensor|tt\.ptr|ttg\.\w+|memref|vector)(?=<)|\b(?:[fiu]|bf|tf|si|ui)\d+\b|\bindex\b)|(?<keyword>\b(?:tt|ttg|ttng|arith|math|scf|cf|gpu|nvvm|llvm|func|ub)\.[\w.]+)|(?<number>\b\d[\w.+]*)/g;
const ASSEMBLY_TOKENS = /(?<comment>\/\/.*|;.*)|(?<string>"(?:[^"\\]|\\.)*")|(?<location>^\s*\.loc\b.*|, !dbg !\d+)|(?<name>[%$!@][\w.]+)|(?<decorator>\.[a-z][\w.]*)|(?<keyword>^\s*(?:tail call|call|define|declare|ret|br|store|load|getelementptr|bitcast|phi|select|icmp|fcmp|[a-z_]+)(?=[. \t]))|(?<number>\b(?:0[xfd])?\d[\w.]*)/g;
const TOKENS = { source: PYTHON_TOKENS, ttir: MLIR_TOKENS, ttgir: MLIR_TOKENS, ttir_generic: MLIR_TOKENS, llir: ASSEMBLY_TOKENS, ptx: ASSEMBLY_TOKENS, amdgcn: ASSEMBLY_TOKENS };
const LONGEST_COLOURED_LINE = 2000;

/** Lines as text and coloured spans; a Python string in triple quotes may go over several. */
function highlightedLines(language, lines) {
  if (language !== "source") return lines.map((line) => highlighted(language, line));
  let quotes = null;
  return lines.map((line) => {
    if (line.length > LONGEST_COLOURED_LINE) return [line];
    const parts = [];
    let rest = line;
    while (rest) {
      const [text, next] = quotes ? untilQuotes(rest, quotes) : beforeQuotes(rest);
      if (quotes) parts.push(el("span", { class: "token-string" }, text));
      else parts.push(...highlighted(language, text));
      rest = rest.slice(text.length);
      quotes = next;
    }
    return parts;
  });
}

/** The text up to and with the closing quotes, and null; or all of it, and the quotes still open. */
function untilQuotes(text, quotes) {
  const at = text.indexOf(quotes);
  return at < 0 ? [text, quotes] : [text.slice(0, at + 3), null];
}

/** The text before a triple quote that opens, with the quotes; or all of it. */
function beforeQuotes(text) {
  const found = text.match(/^(?:[^"'#]|"(?!"")(?:[^"\\]|\\.)*"|'(?!'')(?:[^'\\]|\\.)*')*("""|''')/);
  return found ? [found[0], found[1]] : [text, null];
}

/** One line as text and coloured spans. */
function highlighted(language, line) {
  const tokens = TOKENS[language];
  if (!tokens || line.length > LONGEST_COLOURED_LINE) return [line];
  const parts = [];
  let last = 0;
  for (const match of line.matchAll(tokens)) {
    if (!match[0]) continue;
    const kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
    if (match.index > last) parts.push(line.slice(last, match.index));
    parts.push(el("span", { class: `token-${kind}` }, match[0]));
    last = match.index + match[0].length;
  }
  parts.push(line.slice(last));
  return parts;
}
