"use strict";
// The timeline: pointer, wheel and keys move its view; a table lists what is in view.

function timelineView(report, launches, device, bins, binWidth) {
  const rows = timelineRows(report, launches, device, bins);
  const canvas = el("canvas", {
    id: "timeline", tabindex: "0", role: "img",
    "aria-label": "Timeline of launches. Plus and minus zoom, arrow keys pan, 0 shows all, brackets step through launches. The table below lists what is in view.",
  });
  const timeline = new Timeline(new TimelineDrawing(canvas, report, rows, bins, binWidth), Math.max(report.span_ns, 1));
  const button = (text, label, action) =>
    el("button", { type: "button", "aria-label": label, title: label, on: { click: action } }, text);
  const toolbar = el("div", { class: "toolbar" },
    button("+", "Zoom in", () => timeline.zoom(0.5)), button("−", "Zoom out", () => timeline.zoom(2)),
    button("◀", "Pan left", () => timeline.pan(-0.4)), button("▶", "Pan right", () => timeline.pan(0.4)),
    button("All", "Show all", () => timeline.showAll()),
    el("span", { class: "muted small" }, "Drag to pan, Ctrl + wheel to zoom; keys + − ← → 0, and [ ] to step through launches."));
  return el("div", { class: "timeline" }, toolbar,
    el("div", { class: "canvas-box" }, canvas, timeline.tooltip), timeline.status, timeline.selection, timeline.inView);
}

class Timeline {
  constructor(drawing, span) {
    Object.assign(this, { drawing, span, canvas: drawing.canvas, drag: null, frame: 0, summary: 0 });
    this.tooltip = el("div", { class: "tooltip", hidden: true });
    this.status = el("p", { class: "muted small", id: "timeline-status", "aria-live": "polite" });
    this.selection = el("div", { id: "timeline-selection" });
    this.inView = el("div", { id: "in-view" });
    this.listen();
    this.showAll();
  }

  get view() {
    return this.drawing.view;
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener("keydown", (event) => this.onKey(event));
    canvas.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      this.drag = { x: event.offsetX, begin: this.view.begin, end: this.view.end, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => this.onMove(event));
    canvas.addEventListener("pointerup", (event) => {
      if (this.drag && !this.drag.moved) this.select(this.drawing.sliceAt(event.offsetX, event.offsetY));
      this.drag = null;
    });
    canvas.addEventListener("pointerleave", () => { this.tooltip.hidden = true; });
    canvas.addEventListener("themechange", () => this.schedule());
    new ResizeObserver(() => this.schedule()).observe(canvas);
  }

  schedule() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.drawing.draw();
      this.status.textContent = this.drawing.notes.join("; ") || "Every launch in view is drawn on its own.";
      clearTimeout(this.summary);
      this.summary = setTimeout(() => this.inView.replaceChildren(inViewTable(this.drawing)), 120);
    });
  }

  show(begin, end) {
    const width = Math.min(Math.max(end - begin, 50), 1.04 * this.span);
    const low = -0.02 * this.span;
    this.view.begin = Math.min(Math.max(begin, low), Math.max(1.02 * this.span - width, low));
    this.view.end = this.view.begin + width;
    this.schedule();
  }

  showAll() {
    this.show(-0.01 * this.span, 1.01 * this.span);
  }

  /** Where buttons and keys zoom to: the selection if it is in view, or the middle. */
  get focus() {
    const { begin, end } = this.view;
    const selected = this.drawing.selected;
    const at = selected ? selected.row.begin[selected.index] : NaN;
    return at >= begin && at <= end ? at : (begin + end) / 2;
  }

  zoom(factor, at = this.focus) {
    const { begin, end } = this.view;
    const width = Math.min(Math.max((end - begin) * factor, 50), 1.04 * this.span);
    const from = at - ((at - begin) / (end - begin)) * width;
    this.show(from, from + width);
  }

  pan(share) {
    const shift = share * (this.view.end - this.view.begin);
    this.show(this.view.begin + shift, this.view.end + shift);
  }

  onKey(event) {
    const actions = {
      "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), "0": () => this.showAll(),
      ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2), "[": () => this.step(-1), "]": () => this.step(1),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  }

  /** The plain wheel scrolls the page, unless the timeline has the focus. */
  onWheel(event) {
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!(event.ctrlKey || event.metaKey || sideways || document.activeElement === this.canvas)) return;
    event.preventDefault();
    if (sideways) this.pan((event.deltaX || event.deltaY) / 800);
    else this.zoom(Math.exp(event.deltaY / 300), this.drawing.time(event.offsetX));
  }

  onMove(event) {
    if (this.drag) {
      const shift = (this.drag.x - event.offsetX) / this.drawing.scale;
      this.drag.moved ||= Math.abs(this.drag.x - event.offsetX) > 3;
      if (this.drag.moved) this.show(this.drag.begin + shift, this.drag.end + shift);
    }
    const slice = this.drag?.moved ? null : this.drawing.sliceAt(event.offsetX, event.offsetY);
    this.tooltip.hidden = !slice;
    this.canvas.classList.toggle("pointing", Boolean(slice));
    if (slice) this.showTooltip(slice, event);
  }

  showTooltip({ row: each, index }, event) {
    const length = formatNanoseconds(each.end[index] - each.begin[index]);
    this.tooltip.textContent = `${sliceName(this.drawing.report, each, index)} · ${length} · at ${formatMoment(each.begin[index])}`;
    const left = Math.min(event.offsetX + 12, this.canvas.clientWidth - this.tooltip.offsetWidth - 4);
    this.tooltip.style.setProperty("inset-inline-start", `${Math.max(left, 0)}px`);
    this.tooltip.style.setProperty("inset-block-start", `${event.offsetY + 16}px`);
  }

  select(slice) {
    this.drawing.selected = slice;
    this.schedule();
    this.selection.replaceChildren(...(slice ? [sliceDetails(this.drawing.report, slice)] : []));
  }

  /** Select the next or previous launch of the row that the selection is in. */
  step(direction) {
    const { rows, selected } = this.drawing;
    const first = rows.find((each) => each.indices?.length);
    if (!first) return;
    const start = lowerBound(first.begin, this.view.begin) - direction;
    const { row: each, index } = selected?.row.indices ? selected : { row: first, index: start };
    const next = Math.min(Math.max(index + direction, 0), each.count - 1);
    const begin = each.begin[next];
    const { begin: from, end: to } = this.view;
    if (begin < from || begin > to) this.pan((begin - (from + to) / 2) / (to - from));
    this.select({ row: each, index: next });
  }
}

function sliceDetails(report, { row: each, index }) {
  const name = shortText(sliceName(report, each, index));
  if (each.kind === "launch") return launchPanel(report, each.indices[index]);
  const shared = [["Begin", formatMoment(each.begin[index])], ["Duration", formatNanoseconds(each.end[index] - each.begin[index])]];
  if (each.kind === "mark") {
    const attributes = Object.entries(each.items[index].attributes);
    return panel(`Mark ${name}`, facts([...shared, ...attributes.map(([key, value]) => [shortText(key, 80), shortText(value)])]));
  }
  if (each.kind === "compile") {
    const variant = each.items[index][0];
    return panel(name, facts([...shared, ["Variant", link(variantUrl(report, variant), `variant ${report.variants[variant].kernel_id}`)]]));
  }
  const call = callAt(each.source, each.indices[index]);
  const place = call < 0 ? "not known" : link(`#/call/${call}`, `call ${report.calls[call].call_id}`);
  return panel(`${name} on ${each.label}`, facts([...shared, ["Call", place]]));
}

function panel(title, ...children) {
  return el("div", { class: "panel" }, el("h3", {}, title), ...children);
}

/** Kernels by their time in the part of the timeline that is in view. */
function inViewTable(drawing) {
  const { report } = drawing;
  const sums = new Map();
  const add = (kernel, count, busy) => {
    const sum = sums.get(kernel) ?? { kernel, count: 0, busy: 0 };
    sum.count += count;
    sum.busy += busy;
    sums.set(kernel, sum);
  };
  for (const each of drawing.rows) {
    if (each.kind !== "launch") continue;
    if (drawing.isBinned(each)) addBins(drawing, each, add);
    else addSlices(drawing, each, add);
  }
  const found = [...sums.values()].sort((a, b) => b.busy - a.busy).slice(0, 8);
  return dataTable(
    [
      { label: "In view", cell: (sum) => kernelLink(report, sum.kernel), key: (sum) => kernelName(report, sum.kernel) },
      { label: "launches", number: true, cell: (sum) => formatCount(sum.count), key: (sum) => sum.count },
      { label: "host time", number: true, cell: (sum) => formatNanoseconds(sum.busy), key: (sum) => sum.busy },
    ],
    found,
    { caption: "Kernels in the part of the timeline that is in view", empty: "No launch in view." },
  ).node;
}

function addBins({ bins, binWidth, view }, each, add) {
  for (const i of each.bins) {
    const begin = bins.bin[i] * binWidth;
    if (begin + binWidth >= view.begin && begin <= view.end) add(bins.kernel[i], bins.count[i], bins.busy[i]);
  }
}

function addSlices({ view }, each, add) {
  const last = lowerBound(each.begin, view.end);
  for (let i = lowerBound(each.reach, view.begin); i < last; i += 1) {
    if (each.end[i] >= view.begin) add(sliceKernel(each, i), 1, each.end[i] - each.begin[i]);
  }
}
