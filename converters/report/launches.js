"use strict";
// The list of launches, one call, and the panel that shows a launch with its call.

function kernelAt(source, index) {
  return source.kernel[index];
}

function callAt(source, index) {
  return source.call[index];
}

function launchesPage(report, launches, query, chosen) {
  const controls = {
    kernel: el("select", {}, option("", "all kernels"), namedKernels(report)),
    phase: el("select", {}, option("", "all phases"), report.phases.map((name, index) => option(index, name))),
    track: el("select", {}, option("", "all threads"), hostTracks(report)),
    call: el("input", { type: "number", min: "0", placeholder: "any" }),
    least: el("input", { type: "number", min: "0", step: "any", placeholder: "0" }),
  };
  for (const [name, control] of Object.entries(controls)) control.value = query.get(name) ?? "";
  const count = el("span", { class: "muted", "aria-live": "polite" });
  const panelBox = el("div", { id: "selected-launch" });
  const state = { chosen };
  const select = (index) => {
    state.chosen = index;
    panelBox.replaceChildren(launchPanel(report, index));
    table.redraw();
    history.replaceState(null, "", launchesUrl(controls, index));
  };
  const table = launchTable(report, launches, select, state);
  const apply = () => {
    const rows = filteredLaunches(launches, controls);
    count.textContent = `${formatCount(rows.length)} of ${plural(launches.seq.length, "launch", "launches")} on this page`;
    table.show(rows);
  };
  for (const control of Object.values(controls)) {
    control.addEventListener("change", () => {
      apply();
      history.replaceState(null, "", launchesUrl(controls, state.chosen));
    });
  }
  apply();
  if (chosen >= 0 && chosen < launches.seq.length) {
    panelBox.append(launchPanel(report, chosen));
    table.reveal(chosen);
  } else {
    panelBox.append(note("Choose a launch to see its call."));
  }
  return [
    el("h1", {}, "Launches"),
    ...droppedNotes(report),
    el("div", { class: "toolbar" },
      labelled("Kernel", controls.kernel), labelled("Phase", controls.phase), labelled("Thread", controls.track),
      labelled("Call", controls.call), labelled("At least µs", controls.least), count),
    el("div", { class: "beside" }, table.node, panelBox),
  ];
}

function launchesUrl(controls, chosen) {
  const query = new URLSearchParams();
  for (const [name, control] of Object.entries(controls)) if (control.value !== "") query.set(name, control.value);
  const text = query.toString();
  return `#/${chosen >= 0 ? `launch/${chosen}` : "launches"}${text ? `?${text}` : ""}`;
}

function namedKernels(report) {
  const order = report.kernels.map((_, index) => index);
  order.sort((a, b) => (report.kernels[a].name < report.kernels[b].name ? -1 : 1));
  return order.map((index) => option(index, report.kernels[index].name.slice(0, 80)));
}

function hostTracks(report) {
  return report.tracks
    .map((track, index) => (track.kind === "host" ? option(index, trackName(report, index)) : null))
    .filter(Boolean);
}

function trackName(report, index) {
  const track = report.tracks[index];
  return report.runs.length > 1 ? `${report.runs[track.run].label} ${track.label}` : track.label;
}

function filteredLaunches(launches, controls) {
  const wanted = (control) => (control.value === "" ? null : Number(control.value));
  const [kernel, phase, track, call] = [controls.kernel, controls.phase, controls.track, controls.call].map(wanted);
  const least = (wanted(controls.least) ?? 0) * 1000;
  const found = new Uint32Array(launches.seq.length);
  let count = 0;
  for (let index = 0; index < launches.seq.length; index += 1) {
    if (kernel !== null && kernelAt(launches, index) !== kernel) continue;
    if (phase !== null && launches.phase[index] !== phase) continue;
    if (track !== null && launches.track[index] !== track) continue;
    if (call !== null && callAt(launches, index) !== call) continue;
    if (launches.duration[index] < least) continue;
    found[count] = index;
    count += 1;
  }
  return found.slice(0, count);
}

function launchTable(report, launches, select, state) {
  const byName = report.kernels.map((_, index) => index);
  byName.sort((a, b) => (report.kernels[a].name < report.kernels[b].name ? -1 : 1));
  const rank = new Map(byName.map((kernel, index) => [kernel, index]));
  const columns = [
    {
      label: "Launch", number: true, key: (i) => launches.seq[i],
      cell: (i) => el("button", { type: "button", class: "row-button", on: { click: () => select(i) }, "aria-label": `Show launch ${launches.seq[i]}` }, formatCount(launches.seq[i])),
    },
    { label: "Kernel", cell: (i) => kernelLink(report, kernelAt(launches, i)), key: (i) => rank.get(kernelAt(launches, i)) ?? null },
    { label: "call", number: true, cell: (i) => callLink(report, callAt(launches, i)), key: (i) => callAt(launches, i) },
    { label: "begin", note: "measured", number: true, cell: (i) => formatMoment(launches.begin[i]), key: (i) => launches.begin[i] },
    { label: "host time", note: "measured", number: true, cell: (i) => formatNanoseconds(launches.duration[i]), key: (i) => launches.duration[i] },
    { label: "Phase", cell: (i) => report.phases[launches.phase[i]] ?? UNKNOWN, key: (i) => launches.phase[i] },
    { label: "Thread", cell: (i) => trackName(report, launches.track[i]), key: (i) => launches.track[i] },
  ];
  return dataTable(columns, new Uint32Array(0), {
    caption: "Launches", empty: "No launch matches.",
    tall: true,
    rowProperties: (i) => ({ class: i === state.chosen ? "chosen" : null, data: { launch: i }, on: { click: (event) => { if (!event.target.closest("a, button")) select(i); } } }),
  });
}

function callLink(report, call) {
  return call < 0 ? UNKNOWN : link(`#/call/${call}`, String(report.calls[call].call_id));
}

/** A launch with its call. `index` is its row on this page. */
function launchPanel(report, index) {
  const launches = report.launchColumns;
  const call = callAt(launches, index);
  const shown = panel(
    `Launch ${formatCount(launches.seq[index])}`,
    facts([
      ["Kernel", kernelLink(report, kernelAt(launches, index))],
      ["Call", callLink(report, call)],
      ["Begin", `${formatMoment(launches.begin[index])} after the first event`],
      ["Host time", formatNanoseconds(launches.duration[index])],
      ["Phase", report.phases[launches.phase[index]]],
      ["Thread", trackName(report, launches.track[index])],
      ["Grid", call < 0 ? null : formatGrid(report.calls[call].grid)],
    ]),
    call < 0 ? note("Its call is not on this page.") : argumentTable(report, report.calls[call], true),
  );
  return shown;
}

function argumentTable(report, call, brief = false) {
  const rows = call.args.map((index) => report.arguments[index]);
  const names = rows.map((arg) => arg.name);
  const number = (label, field) => ({ label, number: true, cell: (arg) => (arg[field] === null ? "" : formatBytes(arg[field])) });
  const columns = [
    { label: "Argument", cell: (arg) => code(shortText(arg.name ?? UNKNOWN, 80)) },
    brief ? null : { label: "Kind", cell: (arg) => arg.kind ?? UNKNOWN },
    { label: "Type", cell: (arg) => arg.dtype ?? (brief ? arg.kind : "") },
    { label: "Shape or value", class: "prose", cell: (arg) => code(arg.shape ? formatTuple(arg.shape) : shortText(arg.scalar ?? "")) },
    { label: "Strides", cell: (arg) => (arg.strides ? code(formatTuple(arg.strides)) : "") },
    brief ? null : number("offset", "offset_bytes"),
    brief ? null : number("storage", "storage_bytes"),
    brief ? null : { label: "Device", cell: (arg) => arg.device ?? "" },
    brief ? null : { label: "Same storage as", cell: (arg) => aliasText(arg, rows, names) },
  ].filter(Boolean);
  return dataTable(columns, rows, { caption: "Arguments", empty: "No arguments were recorded." }).node;
}

/** The first argument with the same storage, when that is another one. */
function aliasText(arg, rows, names) {
  if (arg.alias_group === null) return "";
  const first = rows.findIndex((other) => other.alias_group === arg.alias_group);
  return rows[first] === arg ? "" : code(names[first] ?? UNKNOWN);
}

function callTable(report, calls) {
  const of = (index) => report.calls[index];
  const columns = [
    { label: "Call", number: true, cell: (index) => callLink(report, index), key: (index) => of(index).call_id },
    { label: "Grid", cell: (index) => formatGrid(of(index).grid), key: (index) => gridSize(of(index).grid) },
    { label: "Arguments", class: "prose", cell: (index) => argumentSummary(report, of(index)) },
    { label: "launches", note: "measured", number: true, cell: (index) => formatCount(of(index).launches), key: (index) => of(index).launches },
    { label: "host time", note: "measured", number: true, cell: (index) => formatNanoseconds(of(index).host_ns), key: (index) => of(index).host_ns },
    { label: "bytes a launch", note: "derived", number: true, cell: (index) => formatBytes(of(index).bytes), key: (index) => of(index).bytes },
    { label: "FLOPs a launch", note: "derived", number: true, cell: (index) => formatFlops(of(index).flops), key: (index) => of(index).flops },
  ];
  return dataTable(columns, calls, { caption: "Distinct calls", pageRows: 20, sort: [4, "descending"], empty: "No call of this variant is on this page." }).node;
}

function gridSize(grid) {
  return grid.reduce((size, axis) => size * (axis ?? 1), 1);
}

/** Tensors' shapes and scalars in one line; constants belong to the variant. */
function argumentSummary(report, call) {
  const parts = call.args
    .map((index) => report.arguments[index])
    .filter((arg) => arg.kind !== "constexpr")
    .map((arg) => `${arg.name ?? "?"} ${arg.shape ? `${arg.dtype ?? ""}[${arg.shape.join(",")}]` : `= ${shortText(arg.scalar ?? UNKNOWN, 40)}`}`);
  return parts.join(", ");
}

function callPage(report, index) {
  const call = report.calls[index];
  if (!call) return notFound("call");
  const findings = report.findings.filter((finding) => finding.call === index);
  const mean = call.launches ? call.host_ns / call.launches : null;
  return [
    el("h1", {}, `Call ${call.call_id}`),
    facts([
      ["Kernel", call.variant < 0 ? "not recorded" : variantLink(report, call.variant)],
      ["Run", report.runs.length > 1 ? report.runs[call.run].label : null],
      ["Grid", `${formatGrid(call.grid)} (${plural(gridSize(call.grid), "program")})`],
      ["Launches", link(`#/launches?call=${index}`, plural(call.launches, "launch", "launches"))],
      ["Host time", `${formatNanoseconds(call.host_ns)}, ${formatNanoseconds(mean)} a launch (measured)`],
      ["Device time", call.device_ns === null ? null : `${formatNanoseconds(call.device_ns)} (measured)`],
      ["Bytes", call.bytes === null ? "run kvtrace replay" : `${formatBytes(call.bytes)} a launch (derived)`],
      ["FLOPs", call.flops === null ? "run kvtrace replay" : `${formatFlops(call.flops)} a launch (derived)`],
    ]),
    section("Arguments", argumentTable(report, call)),
    section("First launched from", stackList(report, call.stack)),
    findings.length ? section("Findings", ...findings.map((finding) => findingCard(report, finding))) : null,
  ].filter(Boolean);
}

function stackList(report, stack) {
  const frames = stack === null ? [] : report.stacks[stack];
  if (!frames.length) return note("No call stack was recorded.");
  return el("ol", { class: "stack" }, frames.map(([file, line, name]) =>
    el("li", {}, code(name ?? "?"), " ", el("span", { class: "muted", title: file ?? "" }, `${file ?? "?"}${line ? `, line ${line}` : ""}`))));
}
