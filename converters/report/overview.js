"use strict";
// The first page: what ran, the figures, the timeline, the kernels, what was found.

const MEASURED = "measured by capture";
const BY_REPLAY = "derived by kvtrace replay";

function overviewPage(report, launches, device, bins) {
  return [
    el("h1", {}, "Overview"),
    whatRan(report),
    figures(report),
    ...droppedNotes(report),
    section("Timeline", timelineSection(report, launches, device, bins)),
    section("Kernels by host time", topKernels(report)),
    section("Findings", findingsSummary(report)),
    section("Compile cost", compileCost(report)),
    report.marks.length ? section("Marks", marksTable(report)) : null,
    section("Messages", messagesTable(report)),
  ].filter(Boolean);
}

function whatRan(report) {
  const first = report.runs[0];
  const versions = ["python", "triton", "torch", "kvtrace", "driver"]
    .filter((name) => first.versions[name])
    .map((name) => `${name} ${first.versions[name]}`);
  const rest = Object.keys(first.versions).length - versions.length;
  const list = facts([
    ["Command", first.command ? code(shortText(first.command, 2000)) : null],
    ["Commit", commitText(first)],
    ["Versions", versions.join(", ") + (rest > 0 ? ` and ${rest} more` : "")],
    ["Devices", first.devices.length ? first.devices.join("; ") : "none seen: launches ran on the CPU, and host time is what they took there"],
    ["Mode", first.mode],
    ["Host", first.host && `${first.host}, process ${first.pid ?? UNKNOWN}`],
    ["Started", first.started && first.started.replace("T", " ").replace(/\.(\d{3})\d*Z$/, ".$1 UTC")],
    ["Ended", endingText(first)],
    ["Run", code(first.run_id)],
  ]);
  if (report.runs.length === 1) return list;
  return el("div", {}, list, runsTable(report));
}

function commitText(run) {
  if (!run.git_commit) return null;
  const state = run.git_dirty === null ? "" : run.git_dirty ? " with uncommitted changes" : ", clean";
  return el("span", {}, code(run.git_commit.slice(0, 12), { title: run.git_commit }), run.git_branch ? ` on ${run.git_branch}` : "", state);
}

function endingText(run) {
  const ending = run.ending ?? "not recorded: the process was killed, or still runs";
  const sealed = run.sealed ? "" : " (read from the journal)";
  return `${run.duration_ns === null ? "" : `after ${formatNanoseconds(run.duration_ns)}, `}${ending}${sealed}`;
}

function runsTable(report) {
  const columns = [
    { label: "Run", cell: (run) => run.label, key: (run) => run.rank ?? run.label },
    { label: "Host", cell: (run) => run.host ?? UNKNOWN, key: (run) => run.host },
    { label: "Process", number: true, cell: (run) => String(run.pid ?? UNKNOWN), key: (run) => run.pid },
    { label: "Duration", number: true, cell: (run) => formatNanoseconds(run.duration_ns), key: (run) => run.duration_ns },
    { label: "Ending", cell: (run) => run.ending ?? UNKNOWN, key: (run) => run.ending },
    { label: "Dropped rows", number: true, cell: (run) => formatCount(run.dropped_rows), key: (run) => run.dropped_rows },
    { label: "Id", cell: (run) => code(run.run_id) },
  ];
  return dataTable(columns, report.runs, { caption: "Runs", pageRows: 16 }).node;
}

function figures(report) {
  const totals = report.totals;
  const dropped = sumKnown(report.runs.map((run) => run.dropped_rows));
  const overhead = sumKnown(report.runs.map((run) => run.self_overhead_ns));
  const phases = Object.entries(totals.phases).map(([name, count]) => `${formatCount(count)} ${name}`).join(", ");
  const evaluated = totals.evaluated_calls === null ? "run kvtrace replay" : `${BY_REPLAY}, ${formatCount(totals.evaluated_calls)} of ${plural(totals.calls, "call")}`;
  return el("div", { class: "figures", id: "figures" },
    figure("launches", totals.launches, formatCount(totals.launches), MEASURED, phases),
    figure("kernels", totals.kernels, formatCount(totals.kernels), MEASURED, plural(totals.variants, "compiled variant")),
    figure("distinct calls", totals.calls, formatCount(totals.calls), MEASURED),
    figure("host time", totals.host_ns, formatNanoseconds(totals.host_ns), `${MEASURED}: sum over launches, enter to return`, "sum, measured"),
    figure("compile time", totals.compile_ns, formatNanoseconds(totals.compile_ns), `${MEASURED}: sum over variants`, "sum, measured"),
    totals.device_ns === null ? null : figure("device time", totals.device_ns, formatNanoseconds(totals.device_ns), `${MEASURED}: ${plural(totals.gpu_kernels, "execution")}`, plural(totals.gpu_kernels, "execution")),
    figure("bytes moved", totals.bytes, formatBytes(totals.bytes), evaluated),
    figure("FLOPs", totals.flops, formatFlops(totals.flops), evaluated),
    figure("violations", totals.violations, formatCount(totals.violations), totals.violations === null ? "run kvtrace sanitize" : "distinct ones, derived by kvtrace sanitize"),
    figure("capture's own time", overhead, formatNanoseconds(overhead), MEASURED),
    figure("dropped rows", dropped, formatCount(dropped), MEASURED),
  );
}

function sumKnown(values) {
  const known = values.filter((value) => value !== null);
  return known.length ? known.reduce((sum, value) => sum + value, 0) : null;
}

function droppedNotes(report) {
  return report.dropped.map((entry) =>
    el("p", { class: "note warning", data: { dropped: entry.what } }, `${entry.text} `, command(entry.command)));
}

function timelineSection(report, launches, device, bins) {
  if (!report.tracks.length) return note("Nothing was recorded that has a time.");
  return timelineView(report, launches, device, bins, report.bin_ns ?? 1);
}

function topKernels(report) {
  const ranked = report.kernels.map((_, index) => index).sort((a, b) => report.kernels[b].host_ns - report.kernels[a].host_ns);
  const shown = ranked.slice(0, 10);
  const rest = ranked.length > shown.length ? el("p", {}, link("#/kernels", `All ${formatCount(ranked.length)} kernels`)) : null;
  return el("div", {}, kernelTable(report, shown, { brief: true, caption: "Kernels by host time" }).node, rest);
}

function findingsSummary(report) {
  if (!report.finding_counts) return missingSanitize(report);
  return el("div", {}, verdictTable(report), el("p", {}, link("#/findings", "All findings")));
}

function compileCost(report) {
  const timed = report.variants.map((_, index) => index).filter((index) => report.variants[index].compile_ns);
  if (!timed.length) return note("No compilation was recorded.");
  const totals = report.totals;
  const stages = Object.entries(totals.stages);
  const hits = report.variants.filter((variant) => variant.cache_hit).length;
  const summary = `${plural(report.variants.length, "variant")}, ${formatCount(hits)} from the compiler's cache on disk; ${formatNanoseconds(totals.compile_ns)} in all`;
  timed.sort((a, b) => report.variants[b].compile_ns - report.variants[a].compile_ns);
  const stageNames = stages.map(([name]) => name);
  const columns = [
    { label: "Variant", cell: (index) => variantLink(report, index), key: (index) => kernelName(report, report.variants[index].kernel) },
    { label: "in all", note: "measured", number: true, cell: (index) => formatNanoseconds(report.variants[index].compile_ns), key: (index) => report.variants[index].compile_ns },
    ...stageNames.map((name) => ({
      label: name, note: "measured", number: true,
      cell: (index) => formatNanoseconds(stageTime(report.variants[index], name)),
      key: (index) => stageTime(report.variants[index], name),
    })),
    { label: "Disk cache", cell: (index) => ({ true: "hit", false: "miss" })[report.variants[index].cache_hit] ?? UNKNOWN },
  ];
  const spent = stages.map(([name, time]) => `${name} ${formatNanoseconds(time)}`).join(", ");
  return el("div", {},
    el("p", {}, summary, spent ? `; by stage: ${spent}.` : "."),
    dataTable(columns, timed, { caption: "Compile time of each variant", pageRows: 10 }).node);
}

function stageTime(variant, name) {
  return variant.stages.find((stage) => stage.stage === name)?.duration_ns ?? null;
}

function marksTable(report) {
  const columns = [
    { label: "Mark", class: "prose", cell: (mark) => shortText(mark.name ?? UNKNOWN), key: (mark) => mark.name },
    { label: "begin", number: true, cell: (mark) => formatMoment(mark.begin), key: (mark) => mark.begin },
    { label: "duration", number: true, cell: (mark) => (mark.duration === null ? "instant" : formatNanoseconds(mark.duration)), key: (mark) => mark.duration },
    { label: "Thread", cell: (mark) => `${report.runs.length > 1 ? `${report.runs[mark.run].label} ` : ""}${mark.thread ?? UNKNOWN}` },
    { label: "Attributes", cell: (mark) => Object.entries(mark.attributes).map(([name, value]) => `${name}=${shortText(value, 80)}`).join(", "), class: "prose" },
  ];
  return dataTable(columns, report.marks, { caption: "Marks", pageRows: 20 }).node;
}

function messagesTable(report) {
  const said = [...report.notes.map((text) => ({ run: 0, level: "warning", code: "reader", text, count: 1 })), ...report.messages];
  if (!said.length) return note("kvtrace had nothing to say: no launch was missed that it knows of, no row was lost.");
  const columns = [
    { label: "Level", cell: (message) => pill(message.level ?? "info", message.level ?? "info"), key: (message) => message.level },
    { label: "Code", cell: (message) => code(message.code ?? ""), key: (message) => message.code },
    { label: "Message", class: "prose", cell: (message) => shortText(message.text ?? "", 1000) },
    { label: "times", number: true, cell: (message) => formatCount(message.count), key: (message) => message.count },
    ...(report.runs.length > 1 ? [{ label: "Run", cell: (message) => report.runs[message.run].label }] : []),
  ];
  return dataTable(columns, said, { caption: "Messages", pageRows: 20 }).node;
}
