"use strict";
// What the sanitizer found: violations with their witness, unknowns with their reason, counts.

const CONTEXT_LINES = 3;

function missingSanitize(report) {
  return note("The accesses of these runs have not been judged yet. ", command(`kvtrace sanitize ${report.trace}`), " fills this section.");
}

function findingsPage(report) {
  const title = el("h1", {}, "Findings");
  if (!report.finding_counts) return [title, missingSanitize(report)];
  const list = el("div", { id: "finding-list" });
  const pager = el("div", { class: "pager" });
  const verdict = el("select", {}, option("", "violations and unknowns"), option("violation", "violations"), option("unknown", "unknowns"));
  const rules = [...new Set(report.findings.map((finding) => finding.rule))];
  const rule = el("select", {}, option("", "all rules"), rules.map((name) => option(name ?? "", name ?? UNKNOWN)));
  const kernels = [...new Set(report.findings.map((finding) => finding.kernel))];
  const kernel = el("select", {}, option("", "all kernels"), kernels.map((index) => option(index, kernelName(report, index ?? -1))));
  const apply = () => showFindings(report, list, pager, report.findings.filter((finding) =>
    (!verdict.value || finding.verdict === verdict.value) &&
    (!rule.value || finding.rule === rule.value) &&
    (!kernel.value || String(finding.kernel) === kernel.value)), 0);
  for (const control of [verdict, rule, kernel]) control.addEventListener("change", apply);
  apply();
  return [
    title, ...droppedNotes(report), verdictTable(report),
    el("div", { class: "toolbar" }, labelled("Show", verdict), labelled("Rule", rule), labelled("Kernel", kernel)),
    list, pager,
  ];
}

function showFindings(report, list, pager, findings, first) {
  const page = findings.slice(first, first + 20);
  list.replaceChildren(...page.map((finding) => findingCard(report, finding)));
  if (!page.length) list.append(note("No finding matches: every access that was judged is within what it may touch."));
  const turn = (to, text) => el("button", { type: "button", disabled: to < 0 || to >= findings.length, on: { click: () => showFindings(report, list, pager, findings, to) } }, text);
  pager.replaceChildren();
  if (findings.length > 20) {
    pager.append(turn(first - 20, "Previous"), `${first + 1}–${first + page.length} of ${formatCount(findings.length)}`, turn(first + 20, "Next"));
  }
}

/** Accesses by rule and verdict, and how many distinct findings that makes. */
function verdictTable(report) {
  const rules = new Map();
  for (const { rule, verdict, severity, count } of report.finding_counts) {
    const sums = rules.get(rule) ?? { rule, severity, violation: 0, unknown: 0, proven: 0 };
    sums[verdict] = (sums[verdict] ?? 0) + count;
    if (verdict === "violation") sums.severity = severity;
    rules.set(rule, sums);
  }
  const number = (label, verdict, title) => ({
    label, note: "derived", number: true, title,
    cell: (sums) => (sums[verdict] && verdict !== "proven" ? pill(verdict === "violation" ? "error" : "warning", formatCount(sums[verdict])) : formatCount(sums[verdict])),
    key: (sums) => sums[verdict],
  });
  const columns = [
    { label: "Rule", cell: (sums) => sums.rule ?? UNKNOWN, key: (sums) => sums.rule },
    number("violations", "violation", "Accesses that break the rule, with a witness"),
    number("unknown", "unknown", "Accesses that could not be judged, with a reason"),
    number("proven", "proven", "Accesses that hold for every program, lane and iteration of their call"),
  ];
  return dataTable(columns, [...rules.values()], { caption: "Accesses of distinct calls by rule and verdict" }).node;
}

function findingCard(report, finding) {
  const kind = finding.verdict === "violation" ? (finding.severity ?? "error") : "warning";
  const frames = finding.stack === null ? [] : report.stacks[finding.stack];
  const excerpt = el("div", { class: "excerpt" });
  if (frames.length) fillExcerpt(report, finding, frames, excerpt);
  return el("article", { class: `finding ${kind}`, data: { finding: finding.finding_id } },
    el("header", {}, pill(kind, finding.verdict === "violation" ? (finding.severity ?? "violation") : "unknown"),
      el("strong", {}, finding.rule ?? UNKNOWN),
      finding.variant === null || finding.variant < 0 ? null : variantLink(report, finding.variant),
      frames.length ? el("span", { class: "muted", title: frames[0][0] ?? "" }, formatPlace(frames[0][0], frames[0][1])) : null),
    finding.message ? el("p", {}, shortText(finding.message, 2000)) : null,
    excerpt,
    facts([
      ["Access", [finding.access, finding.arg].filter(Boolean).join(" of ")],
      ["Program", finding.program.every((axis) => axis === null) ? null : formatTuple(finding.program)],
      ["Lane", finding.lane && formatTuple(finding.lane)],
      ["Iteration", finding.iteration],
      ["Byte offset", finding.address_offset === null ? null : formatCount(finding.address_offset)],
      ["Past the end", finding.past_end_bytes === null ? null : pastEnd(finding.past_end_bytes)],
      ["Lanes affected", finding.lanes === null ? null : formatCount(finding.lanes)],
      ["Address", finding.expression && code(shortText(finding.expression, 500))],
      ["Reason", finding.reason && shortText(finding.reason, 500)],
      ["Method", finding.method],
      ["Call", finding.call === null ? null : el("span", {}, link(`#/call/${finding.call}`, `call ${report.calls[finding.call]?.call_id ?? ""}`), finding.calls > 1 ? ` and ${plural(finding.calls - 1, "other")}` : "")],
      ["Inlined through", frames.length > 1 ? frames.slice(1).map(([file, line, name]) => `${name ?? ""} ${formatPlace(file, line)}`.trim()).join(" ← ") : null],
    ]));
}

function pastEnd(bytes) {
  return bytes < 0 ? `${plural(-bytes, "byte")} before the start` : plural(bytes, "byte");
}

/** A few source lines around the finding, its own line marked. */
async function fillExcerpt(report, finding, frames, box) {
  const variant = finding.variant === null ? undefined : report.variants[finding.variant];
  for (const [file, line] of frames) {
    const source = variant?.files.find((each) => each.path === file && each.text !== null);
    if (!source || !line) continue;
    const { text } = await readText(source.text);
    const lines = text.split("\n");
    const at = line - source.first_line;
    if (at < 0 || at >= lines.length) continue;
    const from = Math.max(0, at - CONTEXT_LINES);
    const shown = highlightedLines("source", lines).slice(from, at + CONTEXT_LINES + 1).map((parts, index) =>
      el("div", { class: from + index === at ? "line marked" : "line" },
        el("span", { class: "line-number" }, String(from + index + source.first_line)),
        el("code", {}, parts)));
    box.replaceChildren(el("div", { class: "code-block" }, shown));
    return;
  }
}
