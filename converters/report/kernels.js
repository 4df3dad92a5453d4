"use strict";
// The list of kernels, and one kernel: its variants, source beside IR, calls, resources.

function kernelName(report, kernel) {
  return kernel >= 0 ? shortText(report.kernels[kernel].name) : "unknown kernel";
}

function kernelUrl(kernel) {
  return `#/kernel/${kernel}`;
}

function variantUrl(report, variant) {
  return `#/kernel/${report.variants[variant].kernel}/variant/${variant}`;
}

function kernelLink(report, kernel) {
  if (kernel < 0) return "unknown kernel";
  return el("span", { class: "kernel-name" }, swatch(kernel), link(kernelUrl(kernel), kernelName(report, kernel)));
}

function variantLink(report, variant) {
  const { kernel, kernel_id: id, run } = report.variants[variant];
  const of = report.runs.length > 1 ? `, ${report.runs[run].label}` : "";
  return el("span", { class: "kernel-name" }, swatch(kernel),
    link(variantUrl(report, variant), kernelName(report, kernel)), el("span", { class: "muted" }, ` variant ${id}${of}`));
}

function kernelsPage(report) {
  const all = report.kernels.map((_, index) => index);
  const table = kernelTable(report, all, { caption: "Kernels" });
  const filter = el("input", { type: "search", id: "kernel-filter", placeholder: "name, module or file" });
  filter.addEventListener("input", () => {
    const wanted = filter.value.toLowerCase();
    table.show(all.filter((index) => matchesKernel(report.kernels[index], wanted)));
  });
  return [el("h1", {}, "Kernels"), ...droppedNotes(report), el("div", { class: "toolbar" }, labelled("Filter", filter)), table.node];
}

function matchesKernel(kernel, wanted) {
  return [kernel.name, kernel.module, kernel.file].some((text) => (text ?? "").toLowerCase().includes(wanted));
}

function kernelTable(report, kernels, { brief, caption }) {
  const of = (index) => report.kernels[index];
  const number = (label, noteText, field, format, title) => ({
    label, note: noteText, title, number: true,
    cell: (index) => format(of(index)[field]), key: (index) => of(index)[field],
  });
  const total = report.totals.host_ns;
  const columns = [
    { label: "Kernel", cell: (index) => kernelLink(report, index), key: (index) => of(index).name },
    number("launches", "measured", "launches", formatCount),
    {
      label: "host time", note: "measured", number: true, title: "Sum over launches of the time from entering the launching function to its return",
      cell: (index) => el("span", { class: "with-share" }, shareBar(of(index).host_ns / total), formatNanoseconds(of(index).host_ns)),
      key: (index) => of(index).host_ns,
    },
    report.totals.device_ns === null ? null : number("device time", "measured", "device_ns", formatNanoseconds, "Sum over executions on the device"),
    report.totals.bytes === null ? null : number("bytes", "derived", "bytes", formatBytes, "Bytes of active lanes, over all launches of the calls that were evaluated"),
    report.totals.flops === null ? null : number("FLOPs", "derived", "flops", formatFlops, "Floating-point operations, over all launches of the calls that were evaluated"),
    {
      label: "findings", note: "derived", cell: (index) => kernelFindings(of(index)), key: (index) => of(index).violations, number: true,
    },
    number("compile", "measured", "compile_ns", formatNanoseconds, "Sum over variants"),
    { label: "variants", number: true, cell: (index) => formatCount(of(index).variants.length), key: (index) => of(index).variants.length },
    brief ? null : number("calls", null, "calls", formatCount, "Distinct calls: grid and argument metadata"),
    brief ? null : number("registers", "compiler", "registers", formatCount, "Registers of a thread, most of any variant"),
    brief ? null : number("spills", "compiler", "spills", formatCount, "32-bit words of local memory of a thread, most of any variant"),
    brief ? null : number("shared", "compiler", "shared_bytes", formatBytes, "Shared memory of a program, most of any variant"),
    brief ? null : { label: "Defined", cell: (index) => el("span", { title: of(index).file ?? "" }, formatPlace(of(index).file, of(index).line)), key: (index) => of(index).file },
  ].filter(Boolean);
  const column = columns.findIndex((each) => each.label === "host time");
  return dataTable(columns, kernels, { caption, sort: [column, "descending"], pageRows: 50, empty: "No kernel matches." });
}

function kernelFindings(kernel) {
  if (kernel.violations === null) return el("span", { class: "muted", title: "Run kvtrace sanitize" }, "not judged");
  if (!kernel.judged) return el("span", { class: "muted", title: "kvtrace sanitize has judged no access of it" }, "not judged");
  if (kernel.violations) return pill("error", plural(kernel.violations, "violation"));
  return kernel.unknowns ? pill("warning", `${formatCount(kernel.unknowns)} unknown`) : pill("fine", "none");
}

function kernelPage(report, kernelIndex, variantIndex) {
  const kernel = report.kernels[kernelIndex];
  if (!kernel) return notFound("kernel");
  const chosen = kernel.variants.includes(variantIndex) ? variantIndex : busiestVariant(report, kernel);
  const variant = report.variants[chosen];
  const calls = report.calls.map((_, index) => index).filter((index) => report.calls[index].variant === chosen);
  const findings = report.findings.filter((finding) => finding.kernel === kernelIndex);
  return [
    el("h1", { class: "kernel-title" }, swatch(kernelIndex), shortText(kernel.name, 1000)),
    facts([
      ["Defined", kernel.file && el("span", {}, code(kernel.file), kernel.line ? ` line ${kernel.line}` : "")],
      ["Module", kernel.module],
      ["Origin", kernel.origin],
      ["Launches", link(`#/launches?kernel=${kernelIndex}`, plural(kernel.launches, "launch", "launches"))],
      ["Host time", `${formatNanoseconds(kernel.host_ns)} (measured)`],
      ["Device time", kernel.device_ns === null ? null : `${formatNanoseconds(kernel.device_ns)} (measured)`],
      ["Bytes", kernel.bytes === null ? null : `${formatBytes(kernel.bytes)} (derived)`],
      ["FLOPs", kernel.flops === null ? null : `${formatFlops(kernel.flops)} (derived)`],
    ]),
    variantPicker(report, kernel, chosen),
    section("Source and compiled code", codeView(report, chosen, findings)),
    findings.length ? section("Findings", ...findings.map((finding) => findingCard(report, finding))) : null,
    section("Distinct calls", callTable(report, calls)),
    section("Resources and stages", resources(report, variant)),
  ].filter(Boolean);
}

function busiestVariant(report, kernel) {
  return kernel.variants.reduce((best, index) => (report.variants[index].host_ns > report.variants[best].host_ns ? index : best));
}

function variantPicker(report, kernel, chosen) {
  if (kernel.variants.length < 2) return null;
  const columns = [
    {
      label: "Variant",
      cell: (index) => el("a", { href: variantUrl(report, index), "aria-current": index === chosen ? "true" : null }, variantName(report, index)),
      key: (index) => report.variants[index].kernel_id,
    },
    { label: "Specialised for", class: "prose", cell: (index) => variantDifference(report.variants[index]) },
    { label: "launches", number: true, cell: (index) => formatCount(report.variants[index].launches), key: (index) => report.variants[index].launches },
    { label: "host time", number: true, cell: (index) => formatNanoseconds(report.variants[index].host_ns), key: (index) => report.variants[index].host_ns },
    { label: "compile", number: true, cell: (index) => formatNanoseconds(report.variants[index].compile_ns), key: (index) => report.variants[index].compile_ns },
    { label: "registers", number: true, cell: (index) => formatCount(report.variants[index].registers), key: (index) => report.variants[index].registers },
    { label: "spills", number: true, cell: (index) => formatCount(report.variants[index].spills), key: (index) => report.variants[index].spills },
  ];
  const table = dataTable(columns, kernel.variants, {
    caption: "Variants", pageRows: 12, sort: [3, "descending"],
    rowProperties: (index) => ({ class: index === chosen ? "chosen" : null }),
  });
  return section("Variants", table.node);
}

function variantName(report, index) {
  const variant = report.variants[index];
  return `variant ${variant.kernel_id}${report.runs.length > 1 ? ` of ${report.runs[variant.run].label}` : ""}`;
}

function variantDifference(variant) {
  const constants = variant.signature.filter((p) => p.constexpr !== null && p.constexpr !== undefined).map((p) => `${p.name}=${shortText(p.constexpr, 60)}`);
  return [...constants, `warps ${variant.num_warps ?? UNKNOWN}`, `stages ${variant.num_stages ?? UNKNOWN}`].join(", ");
}

/** All that the compiler was told, folded away: there is much of it, and it is rarely asked for. */
function compileOptions(variant) {
  const options = Object.entries(variant.options);
  if (!options.length) return null;
  const columns = [
    { label: "Option", cell: ([name]) => code(shortText(name, 80)), key: ([name]) => name },
    { label: "Value", class: "prose", cell: ([, value]) => code(shortText(value)) },
  ];
  return el("details", { class: "whole-row" }, el("summary", {}, `Compile options (${formatCount(options.length)})`),
    dataTable(columns, options, { caption: "Compile options" }).node);
}

function resources(report, variant) {
  const parameters = [
    { label: "Parameter", cell: (p) => code(p.name ?? UNKNOWN) },
    { label: "Type", cell: (p) => code(p.type ?? UNKNOWN) },
    { label: "Value", cell: (p) => (p.constexpr === null ? "" : code(shortText(p.constexpr))) },
    { label: "divisible by", number: true, cell: (p) => (p.divisibility === null ? "" : String(p.divisibility)) },
  ];
  const stages = [
    { label: "Stage", cell: (stage) => stage.stage },
    { label: "size", number: true, cell: (stage) => formatBytes(stage.size_bytes) },
    { label: "time", note: "measured", number: true, cell: (stage) => formatNanoseconds(stage.duration_ns) },
  ];
  return el("div", { class: "columns" },
    facts([
      ["Target", variant.target],
      ["Warps", variant.num_warps === null ? null : `${variant.num_warps} of ${variant.warp_size ?? UNKNOWN} threads`],
      ["Blocks in a cluster", variant.num_ctas],
      ["Pipeline stages", variant.num_stages],
      ["Registers", variant.registers === null ? null : `${variant.registers} a thread`],
      ["Spills", variant.spills === null ? null : `${variant.spills} words a thread`],
      ["Shared memory", variant.shared_bytes === null ? null : `${formatBytes(variant.shared_bytes)} a program`],
      ["Compile time", variant.compile_ns === null ? null : formatNanoseconds(variant.compile_ns)],
      ["Disk cache", { true: "hit", false: "miss" }[variant.cache_hit]],
      ["Cache key", variant.cache_key && code(variant.cache_key, { class: "wrap" })],
    ]),
    variant.signature.length ? dataTable(parameters, variant.signature, { caption: "Parameters" }).node : null,
    variant.stages.length ? dataTable(stages, variant.stages, { caption: "Compiler stages" }).node : null,
    compileOptions(variant));
}
