"use strict";
// Source beside a compiler stage, with the lines of both linked in both directions.

const STAGE_NAMES = { ttir: "TTIR", ttgir: "TTGIR", llir: "LLVM IR", ptx: "PTX", amdgcn: "GCN", ttir_generic: "TTIR, generic form" };
const CHUNK_LINES = 100;
/** Lines that only say where others come from: shown on demand. */
const LOCATION_LINE = /^#\w+ = loc\(|^\s*\.loc\s|^!\d+ = /;
/** Lines after these are laid out when they come into view. */
const AT_ONCE_LINES = 500;
const FOLD_CONTEXT = 3;

function codeView(report, variantIndex, findings) {
  const variant = report.variants[variantIndex];
  const stages = shownStages(variant);
  const sources = variant.files.filter((file) => file.text !== null);
  if (!sources.length && !stages.length) return note("Neither source nor compiled code was recorded (KVTRACE_SOURCE=0 leaves both out), or they did not fit into this page.");
  const status = el("p", { class: "muted small", id: "link-status", "aria-live": "polite" }, "Point at a line to see where it comes from or goes to; click to hold it.");
  const left = codePane("Source", "source-pane");
  const right = codePane("Compiled code", "stage-pane");
  const linker = new Linker(left, right, status);
  const tabs = el("div", { class: "tabs", role: "tablist", "aria-label": "Compiler stages" });
  const locations = el("input", { type: "checkbox" });
  locations.addEventListener("change", () => right.lines.classList.toggle("with-locations", locations.checked));

  async function showStage(stage) {
    for (const tab of tabs.children) tab.setAttribute("aria-selected", String(tab.dataset.stage === stage.stage));
    const { text, links } = await readText(stage.text);
    renderStage(right, stage.stage, text);
    linker.setStage(stage.stage, links, shownPaths(links, sources));
  }

  async function start() {
    const loaded = await Promise.all(sources.map(async (file) => ({ ...file, ...(await readText(file.text)) })));
    const first = stages[0] ? await readText(stages[0].text) : null;
    renderSources(left, loaded, linkedLines(first?.links, sources), report.kernels[variant.kernel], findings, report);
    if (stages[0]) await showStage(stages[0]);
    else right.lines.append(note("No stage of this variant is on this page."));
    if (!loaded.length) left.lines.append(note("The source was not recorded, or it did not fit into this page."));
  }

  for (const stage of stages) {
    tabs.append(el("button", { type: "button", role: "tab", "aria-selected": "false", data: { stage: stage.stage }, on: { click: () => showStage(stage) } }, STAGE_NAMES[stage.stage] ?? stage.stage));
  }
  start();
  return el("div", { class: "code-view" },
    el("div", { class: "code-head" }, el("h3", {}, "Source")),
    el("div", { class: "code-head" }, tabs, el("label", { class: "small" }, locations, " locations")),
    left.node, right.node, status);
}

/** Stages with text on this page, the readable ones first; the generic TTIR only for want of the pretty one. */
function shownStages(variant) {
  const withText = variant.stages.filter((stage) => stage.text !== null && stage.stage !== "source");
  const pretty = withText.some((stage) => stage.stage === "ttir");
  return withText.filter((stage) => stage.stage !== "ttir_generic" || !pretty);
}

function codePane(label, id) {
  const lines = el("div", { class: "code-lines" });
  const node = el("div", { class: "code-pane", id, tabindex: "0", role: "group", "aria-label": `${label}; up and down arrows go from linked line to linked line, Enter holds one` }, lines);
  return { node, lines, byKey: new Map() };
}

function lineNode(key, number, content, classes = "") {
  return el("div", { class: `line ${classes}`, data: { key } }, el("span", { class: "line-number" }, String(number)), el("code", {}, content));
}

function renderStage(pane, stage, text) {
  pane.lines.replaceChildren();
  pane.byKey.clear();
  const lines = text.split("\n");
  if (lines[lines.length - 1] === "") lines.pop();
  for (let from = 0; from < lines.length; from += CHUNK_LINES) {
    const chunk = el("div", { class: from < AT_ONCE_LINES ? null : "deferred" });
    chunk.style.setProperty("--lines", Math.min(CHUNK_LINES, lines.length - from));
    const shown = lines.slice(from, from + CHUNK_LINES);
    const coloured = highlightedLines(stage, shown);
    shown.forEach((content, offset) => {
      const number = from + offset;
      const node = lineNode(String(number), number + 1, coloured[offset], LOCATION_LINE.test(content) ? "location" : "");
      pane.byKey.set(String(number), node);
      chunk.append(node);
    });
    pane.lines.append(chunk);
  }
  pane.node.scrollTop = 0;
}

function sourceKey(path, line) {
  return `${path}\n${line}`;
}

/**
 * The page's path of each file that the links name. A kernel from the compiler's cache names the
 * place where it was compiled first: then the only source file of the same name is meant.
 */
function shownPaths(links, sources) {
  return (links?.files ?? []).map((path) => {
    if (sources.some((file) => file.path === path)) return path;
    const named = sources.filter((file) => baseName(file.path) === baseName(path));
    return named.length === 1 ? named[0].path : path;
  });
}

/** Keys of all source lines that a stage's lines come from. */
function linkedLines(links, sources) {
  const keys = new Set();
  const paths = shownPaths(links, sources);
  for (const stack of links?.stacks ?? []) {
    for (const [file, line] of stack) keys.add(sourceKey(paths[file], line));
  }
  return keys;
}

function renderSources(pane, files, linked, kernel, findings, report) {
  const marks = findingLines(findings, report);
  for (const file of files) {
    const lines = file.text.split("\n");
    if (lines[lines.length - 1] === "") lines.pop();
    pane.lines.append(el("div", { class: "file-name", title: file.path }, baseName(file.path)));
    const shown = shownLines(file, lines, linked, kernel);
    const coloured = highlightedLines("source", lines);
    let from = 0;
    while (from < lines.length) {
      let to = from;
      while (to < lines.length && shown[to] === shown[from]) to += 1;
      appendLines(pane, file, coloured, from, to, shown[from], marks, linked);
      from = to;
    }
  }
}

function appendLines(pane, file, coloured, from, to, shown, marks, linked) {
  const nodes = [];
  for (let index = from; index < to; index += 1) {
    const number = index + file.first_line;
    const key = sourceKey(file.path, number);
    const classes = [marks.get(key), linked.has(key) ? "linked" : null].filter(Boolean).join(" ");
    const node = lineNode(key, number, coloured[index], classes);
    pane.byKey.set(key, node);
    nodes.push(node);
  }
  if (shown || to - from < 4) {
    pane.lines.append(...nodes);
    return;
  }
  const fold = el("button", { type: "button", class: "fold" }, `⋯ ${plural(to - from, "line")} without compiled code`);
  const open = () => fold.replaceWith(...nodes);
  fold.addEventListener("click", open);
  pane.lines.append(fold);
}

/** Which lines of a file to show: the kernel's own, and those with compiled code, with context. */
function shownLines(file, lines, linked, kernel) {
  const shown = new Array(lines.length).fill(false);
  const show = (from, to) => { for (let i = Math.max(from, 0); i < Math.min(to, lines.length); i += 1) shown[i] = true; };
  lines.forEach((_, index) => {
    if (linked.has(sourceKey(file.path, index + file.first_line))) show(index - FOLD_CONTEXT, index + FOLD_CONTEXT + 1);
  });
  if (file.path === kernel.file && kernel.line) {
    const first = kernel.line - file.first_line;
    show(first - FOLD_CONTEXT, functionEnd(lines, first));
  }
  if (!shown.includes(true)) show(0, lines.length <= 200 ? lines.length : 0);
  return shown;
}

/** The line after a Python function that begins at `first`, by its indentation. */
function functionEnd(lines, first) {
  if (first < 0 || first >= lines.length) return 0;
  const indent = lines[first].search(/\S|$/);
  let [index, depth] = [first, 0];
  do {
    for (const character of lines[index].replace(/#.*/, "")) depth += "([{".includes(character) - ")]}".includes(character);
    index += 1;
  } while (depth > 0 && index < lines.length);
  while (index < lines.length && (!lines[index].trim() || lines[index].search(/\S/) > indent)) index += 1;
  return index;
}

function findingLines(findings, report) {
  const marks = new Map();
  for (const finding of findings) {
    if (finding.stack === null || finding.found.suppressed) continue;
    const kind = finding.found.verdict === "violation" ? "has-violation" : "has-unknown";
    for (const [file, line] of report.stacks[finding.stack]) {
      const key = sourceKey(file, line);
      if (marks.get(key) !== "has-violation") marks.set(key, kind);
    }
  }
  return marks;
}
