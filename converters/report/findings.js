"use strict";
// What the sanitizer found: violations with their witness, unknowns with their reason, counts.

const CONTEXT_LINES = 3;
const PILLS = { violation: "error", unknown: "warning" };

/** The verdict that a finding is counted under. */
function countsAs(found) {
  return found.suppressed ? "suppressed" : found.verdict;
}

function findingKind(found) {
  if (found.suppressed) return "note";
  return found.verdict === "violation" ? (found.severity ?? "error") : "warning";
}

function missingSanitize(report) {
  return note("The accesses of these runs have not been judged yet. ", command(`kvtrace sanitize ${report.trace}`), " fills this section.");
}

function findingsPage(report) {
  const title = el("h1", {}, "Findings");
  if (!report.finding_counts) return [title, missingSanitize(report)];
  const list = el("div", { id: "finding-list" });
  const pager = el("div", { class: "pager" });
  const verdict = el("select", {}, option("", "all findings"), option("violation", "violations"), option("unknown", "unknowns"), option("suppressed", "suppressed"));
  const rules = [...new Set(report.findings.map(({ found }) => found.rule))];
  const rule = el("select", {}, option("", "all rules"), rules.map((name) => option(name ?? "", name ?? UNKNOWN)));
  const kernels = [...new Set(report.findings.map((finding) => finding.kernel))];
  const kernel = el("select", {}, option("", "all kernels"), kernels.map((index) => option(index, kernelName(report, index ?? -1))));
  const apply = () => showFindings(report, list, pager, report.findings.filter((finding) =>
    (!verdict.value || countsAs(finding.found) === verdict.value) &&
    (!rule.value || finding.found.rule === rule.value) &&
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
    const sums = rules.get(rule) ?? { rule, severity, violation: 0, suppressed: 0, unknown: 0, proven: 0 };
    sums[verdict] = (sums[verdict] ?? 0) + count;
    if (verdict === "violation") sums.severity = severity;
    rules.set(rule, sums);
  }
  const number = (label, verdict, title) => ({
    label, note: "derived", number: true, title,
    cell: (sums) => (sums[verdict] && PILLS[verdict] ? pill(PILLS[verdict], formatCount(sums[verdict])) : formatCount(sums[verdict])),
    key: (sums) => sums[verdict],
  });
  const columns = [
    { label: "Rule", cell: (sums) => sums.rule ?? UNKNOWN, key: (sums) => sums.rule },
    number("violations", "violation", "Accesses that break the rule, with a witness"),
    number("suppressed", "suppressed", "Accesses that a comment in the source says are meant"),
    number("unknown", "unknown", "Accesses that could not be judged, with a reason"),
    number("proven", "proven", "Accesses that hold for every program, lane and iteration of their call"),
  ];
  return dataTable(columns, [...rules.values()], { caption: "Accesses of distinct calls by rule and verdict" }).node;
}

function findingCard(report, finding) {
  const { found } = finding;
  const kind = findingKind(found);
  const frames = finding.stack === null ? [] : report.stacks[finding.stack];
  const other = finding.other_stack === null ? [] : report.stacks[finding.other_stack];
  const excerpt = el("div", { class: "excerpt" });
  if (frames.length) fillExcerpt(report, finding, frames, excerpt);
  const label = found.suppressed ? "suppressed" : found.verdict === "violation" ? found.severity : found.verdict;
  return el("article", { class: `finding ${kind}`, data: { finding: found.finding_id } },
    el("header", {}, pill(kind, label ?? UNKNOWN),
      el("strong", {}, found.rule ?? UNKNOWN),
      finding.variant === null || finding.variant < 0 ? null : variantLink(report, finding.variant),
      frames.length ? el("span", { class: "muted", title: frames[0][0] ?? "" }, formatPlace(frames[0][0], frames[0][1])) : null),
    found.message ? el("p", {}, shortText(found.message, 2000)) : null,
    excerpt,
    facts([
      ["Access", [found.access, found.arg && (found.tensor ? `${found.arg} (${found.tensor})` : found.arg)].filter(Boolean).join(" of ")],
      ["Program", found.program && formatTuple(found.program)],
      ["Lane", found.lane && formatTuple(found.lane)],
      ["Iteration", found.iteration],
      ["Against", otherSide(found, other)],
      ["Byte offset", found.address_offset === null ? null : formatCount(found.address_offset)],
      ["Past the end", found.past_end_bytes === null ? null : pastEnd(found.past_end_bytes)],
      ["Lanes affected", found.lanes === null ? null : formatCount(found.lanes)],
      ["Address", found.expression && code(shortText(found.expression, 500))],
      ["Nearest", found.nearest && shortText(found.nearest, 500)],
      ["Reason", found.reason && shortText(found.reason, 500)],
      ["Safe if", found.assumption && code(shortText(found.assumption, 500))],
      ["Suppressed", found.suppressed ? shortText(found.suppress_reason ?? "no reason given", 500) : null],
      ["Method", found.method],
      ["Call", finding.call === null ? null : el("span", {}, link(`#/call/${finding.call}`, `call ${report.calls[finding.call]?.call_id ?? ""}`), found.calls > 1 ? ` and ${plural(found.calls - 1, "other")}` : "")],
      ["Launch", found.invocation && code(shortText(found.invocation, 500))],
      ["Inlined through", frames.length > 1 ? frames.slice(1).map(([file, line, name]) => `${name ?? ""} ${formatPlace(file, line)}`.trim()).join(" ← ") : null],
      ["Hint", found.hint && !found.suppressed ? shortText(found.hint, 500) : null],
    ]));
}

/** The second side of a race: its program and its place. */
function otherSide(found, frames) {
  const parts = [found.other_program && `program ${formatTuple(found.other_program)}`, frames.length && formatPlace(frames[0][0], frames[0][1])];
  return parts.filter(Boolean).join(" at ") || null;
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
