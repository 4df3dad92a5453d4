"use strict";
// The timeline: a canvas with a row per thread and stream, and a table of what is in view.

const NARROWEST_GUTTER = 80;
const WIDEST_GUTTER = 210;
const FONT = "12px system-ui, sans-serif";
const AXIS = 24;
const LANE = 18;
const MAX_LANES = 4;
const GAP = 10;
/** With more slices than this in view, a row is drawn as columns of one pixel. */
const SINGLE_SLICES = 6000;

/** Rows to draw, top to bottom: marks, compilations and launches of each thread, device streams. */
function timelineRows(report, launches, device, bins) {
  const rows = [];
  report.tracks.forEach((track, index) => {
    const prefix = report.runs.length > 1 ? `${report.runs[track.run].label} ` : "";
    const label = prefix + track.label;
    if (track.kind === "host") {
      const marks = report.marks.filter((m) => m.run === track.run && m.thread === track.thread);
      if (marks.length) rows.push({ ...row("mark", `${prefix}marks ${track.thread}`, objectSlices(marks.map((m) => [m.begin, m.duration ?? 0]))), items: marks });
      const compiles = report.compiles.filter((entry) => entry[3] === index);
      if (compiles.length) rows.push({ ...row("compile", `${prefix}compile ${track.thread}`, objectSlices(compiles.map((c) => [c[1], c[2]]))), items: compiles });
    }
    const source = track.kind === "host" ? launches : device;
    const indices = trackIndices(source, index);
    const ownBins = track.kind === "host" ? binsOfTrack(bins, index) : null;
    if (!indices.length && !ownBins) return;
    const kind = track.kind === "host" ? "launch" : "device";
    rows.push({ ...row(kind, label, columnSlices(source, indices)), source, indices, bins: ownBins });
  });
  return rows;
}

function row(kind, label, slices) {
  return { kind, label, ...slices, ...withLanes(slices) };
}

function trackIndices(source, track) {
  let count = 0;
  for (let i = 0; i < source.track.length; i += 1) count += source.track[i] === track ? 1 : 0;
  const indices = new Uint32Array(count);
  for (let i = 0, at = 0; i < source.track.length; i += 1) {
    if (source.track[i] === track) { indices[at] = i; at += 1; }
  }
  return indices;
}

function columnSlices(source, indices) {
  return {
    count: indices.length,
    begin: Float64Array.from(indices, (i) => source.begin[i]),
    end: Float64Array.from(indices, (i) => source.begin[i] + source.duration[i]),
  };
}

function objectSlices(pairs) {
  return {
    count: pairs.length,
    begin: Float64Array.from(pairs, (pair) => pair[0]),
    end: Float64Array.from(pairs, (pair) => pair[0] + pair[1]),
  };
}

/** Slices that overlap go into lanes below each other; `reach[i]` is the latest end up to i. */
function withLanes({ count, begin, end }) {
  const lane = new Uint8Array(count);
  const reach = new Float64Array(count);
  const ends = [];
  let latest = -Infinity;
  for (let i = 0; i < count; i += 1) {
    let free = ends.findIndex((last) => last <= begin[i]);
    if (free < 0) free = Math.min(ends.length, MAX_LANES - 1);
    ends[free] = Math.max(ends[free] ?? -Infinity, end[i]);
    lane[i] = free;
    latest = Math.max(latest, end[i]);
    reach[i] = latest;
  }
  return { lane, reach, lanes: Math.max(1, ends.length) };
}

function binsOfTrack(bins, track) {
  if (!bins) return null;
  const rows = [];
  for (let i = 0; i < bins.track.length; i += 1) if (bins.track[i] === track) rows.push(i);
  return rows.length ? rows : null;
}

/** First index of a sorted array whose value is at least `value`. */
function lowerBound(sorted, value) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

function timelineView(report, launches, device, bins, binWidth) {
  const rows = timelineRows(report, launches, device, bins);
  const span = Math.max(report.span_ns, 1);
  const view = { begin: -0.01 * span, end: 1.01 * span };
  const canvas = el("canvas", {
    id: "timeline", tabindex: "0", role: "img",
    "aria-label": "Timeline of launches. Plus and minus zoom, arrow keys pan, 0 shows all, brackets step through launches. The table below lists what is in view.",
  });
  const tooltip = el("div", { class: "tooltip", hidden: true });
  const status = el("p", { class: "muted small", id: "timeline-status", "aria-live": "polite" });
  const inView = el("div", { id: "in-view" });
  const selection = el("div", { id: "timeline-selection" });
  const context = canvas.getContext("2d");
  const gutter = gutterWidth(context, rows);
  let selected = null;
  let hits = [];
  let scheduled = 0;
  let summary = 0;

  function scale() {
    return Math.max(canvas.clientWidth - gutter, 1) / (view.end - view.begin);
  }

  function schedule() {
    if (!scheduled) scheduled = requestAnimationFrame(() => { scheduled = 0; draw(); });
  }

  function draw() {
    const ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth;
    const height = AXIS + rows.reduce((sum, r) => sum + r.lanes * LANE + GAP, 0);
    canvas.style.setProperty("block-size", `${height}px`);
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const colours = themeColours();
    context.font = FONT;
    context.textBaseline = "middle";
    drawAxis(context, gutter, view, scale(), width, height, colours);
    hits = [];
    let top = AXIS;
    const notes = [];
    for (const each of rows) {
      drawRow(each, top, width, colours, notes);
      top += each.lanes * LANE + GAP;
    }
    status.textContent = notes.length
      ? notes.join("; ")
      : "Every launch in view is drawn on its own.";
    clearTimeout(summary);
    summary = setTimeout(showInView, 120);
  }

  function drawRow(each, top, width, colours, notes) {
    const first = lowerBound(each.reach, view.begin);
    const last = lowerBound(each.begin, view.end);
    const binned = each.bins && binWidth * scale() < 24;
    context.save();
    context.beginPath();
    context.rect(gutter, top, width - gutter, each.lanes * LANE);
    context.clip();
    context.fillStyle = colours.track;
    context.fillRect(gutter, top, width - gutter, each.lanes * LANE);
    if (binned) drawBins(each, top, colours, notes);
    else if (last - first > SINGLE_SLICES) drawColumns(each, first, last, top, colours, notes);
    else drawSlices(each, first, last, top, colours);
    context.restore();
    context.fillStyle = colours.text;
    context.fillText(clipText(context, each.label, gutter - 8), 4, top + (each.lanes * LANE) / 2);
    hits.push({ top, bottom: top + each.lanes * LANE, row: each, first, last, binned });
  }

  function x(time) {
    return gutter + (time - view.begin) * scale();
  }

  function drawSlices(each, first, last, top, colours) {
    for (let i = first; i < last; i += 1) {
      const left = Math.max(x(each.begin[i]), gutter - 2);
      const right = Math.min(x(each.end[i]), canvas.clientWidth + 2);
      const at = top + each.lane[i] * LANE;
      const width = Math.max(right - left, 1);
      context.fillStyle = sliceColour(each, i, colours);
      context.fillRect(left, at + 1, width > 3 ? width - 0.5 : width, LANE - 2);
      if (isSelected(each, i)) outline(left, at, width, colours);
      if (width > 28) drawLabel(sliceName(each, i), left, at, width, each.kind, colours);
    }
  }

  function drawLabel(text, left, top, width, kind, colours) {
    context.fillStyle = kind === "mark" || kind === "compile" ? colours.text : colours.onKernel;
    context.fillText(clipText(context, text, width - 8), left + 4, top + LANE / 2 + 0.5);
  }

  function outline(left, top, width, colours) {
    context.strokeStyle = colours.text;
    context.lineWidth = 2;
    context.strokeRect(left + 1, top + 1, Math.max(width - 2, 1), LANE - 2);
  }

  /** One column a pixel: its height is the share of time that was busy, split by kernel. */
  function drawColumns(each, first, last, top, colours, notes) {
    const perPixel = 1 / scale();
    const columns = new PixelColumns(canvas.clientWidth - gutter, perPixel);
    for (let i = first; i < last; i += 1) {
      const pixel = Math.floor((each.begin[i] - view.begin) * scale());
      columns.add(Math.max(pixel, 0), sliceKernel(each, i), each.end[i] - each.begin[i]);
    }
    paintColumns(columns, each, top, colours);
    notes.push(`${each.label}: ${plural(last - first, ...nouns(each))} in view, drawn as one column a pixel (height: share of time, split by kernel); zoom in for single ones`);
  }

  function drawBins(each, top, colours, notes) {
    const columns = new PixelColumns(canvas.clientWidth - gutter, Math.max(1 / scale(), 1));
    let total = 0;
    for (const i of each.bins) {
      const begin = bins.bin[i] * binWidth;
      if (begin + binWidth < view.begin || begin > view.end) continue;
      total += bins.count[i];
      const from = (begin - view.begin) * scale();
      const to = from + binWidth * scale();
      for (let pixel = Math.max(Math.floor(from), 0); pixel < to && pixel < columns.width; pixel += 1) {
        const covered = Math.min(to, pixel + 1) - Math.max(from, pixel);
        columns.add(pixel, bins.kernel[i], (bins.busy[i] * covered) / (to - from));
      }
    }
    paintColumns(columns, each, top, colours);
    notes.push(`${each.label}: ${plural(total, ...nouns(each))} in view, counted in bins of ${formatNanoseconds(binWidth)}; zoom in for the single ones on this page`);
  }

  function paintColumns(columns, each, top, colours) {
    const height = each.lanes * LANE - 2;
    const plain = { mark: colours.mark, compile: colours.compile }[each.kind];
    columns.forEach((pixel, parts) => {
      let bottom = top + 1 + height;
      for (const [kernel, share] of parts) {
        const tall = Math.max(height * share, parts.length === 1 ? 1.5 : 0.5);
        context.fillStyle = plain ?? kernelColour(kernel);
        context.fillRect(gutter + pixel, bottom - tall, 1, tall);
        bottom -= tall;
      }
    });
  }

  function sliceColour(each, i, colours) {
    if (each.kind === "mark") return colours.mark;
    if (each.kind === "compile") return colours.compile;
    return kernelColour(sliceKernel(each, i));
  }

  function sliceKernel(each, i) {
    return each.indices ? kernelAt(each.source, each.indices[i]) : -1;
  }

  function sliceName(each, i) {
    if (each.kind === "mark") return each.items[i].name ?? "";
    if (each.kind === "compile") return `compile ${kernelName(report, report.variants[each.items[i][0]].kernel)}`;
    return kernelName(report, sliceKernel(each, i));
  }

  function isSelected(each, i) {
    return selected && selected.row === each && selected.index === i;
  }

  function zoom(factor, at = (view.begin + view.end) / 2) {
    const width = Math.min(Math.max((view.end - view.begin) * factor, 50), span * 1.04);
    const share = (at - view.begin) / (view.end - view.begin);
    view.begin = at - share * width;
    view.end = view.begin + width;
    clampView();
  }

  function pan(share) {
    const shift = share * (view.end - view.begin);
    view.begin += shift;
    view.end += shift;
    clampView();
  }

  function clampView() {
    const width = view.end - view.begin;
    const low = -0.02 * span;
    view.begin = Math.min(Math.max(view.begin, low), Math.max(1.02 * span - width, low));
    view.end = view.begin + width;
    schedule();
  }

  function all() {
    view.begin = -0.01 * span;
    view.end = 1.01 * span;
    schedule();
  }

  function timeAt(event) {
    return view.begin + (event.offsetX - gutter) / scale();
  }

  /** The slice under the pointer, or the nearest within three pixels. */
  function sliceAt(event) {
    const hit = hits.find((h) => event.offsetY >= h.top && event.offsetY < h.bottom);
    if (!hit || hit.binned || event.offsetX < gutter) return null;
    const time = timeAt(event);
    const slack = 3 / scale();
    const lane = Math.floor((event.offsetY - hit.top) / LANE);
    let best = null;
    for (let i = lowerBound(hit.row.reach, time - slack); i < hit.last && hit.row.begin[i] <= time + slack; i += 1) {
      const distance = Math.max(hit.row.begin[i] - time, time - hit.row.end[i], 0);
      if (distance > slack || hit.row.lane[i] !== lane) continue;
      if (!best || distance <= best.distance) best = { row: hit.row, index: i, distance };
    }
    return best;
  }

  function describe({ row: each, index }) {
    const length = formatNanoseconds(each.end[index] - each.begin[index]);
    return `${sliceName(each, index)} · ${length} · at ${formatMoment(each.begin[index])}`;
  }

  function select(slice) {
    selected = slice;
    schedule();
    if (!slice) return;
    selection.replaceChildren(sliceDetails(report, slice, sliceName(slice.row, slice.index)));
  }

  function step(direction) {
    const launchRows = rows.filter((each) => each.indices?.length);
    if (!launchRows.length) return;
    const current = selected?.row.indices ? selected : { row: launchRows[0], index: lowerBound(launchRows[0].begin, view.begin) - direction };
    const index = Math.min(Math.max(current.index + direction, 0), current.row.count - 1);
    const begin = current.row.begin[index];
    if (begin < view.begin || begin > view.end) pan((begin - (view.begin + view.end) / 2) / (view.end - view.begin));
    select({ row: current.row, index });
  }

  function showInView() {
    inView.replaceChildren(inViewTable(report, rows, view, bins, binWidth, scale()));
  }

  const keys = {
    "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "0": all,
    ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), "[": () => step(-1), "]": () => step(1),
  };
  canvas.addEventListener("keydown", (event) => {
    const action = event.ctrlKey || event.metaKey || event.altKey ? null : keys[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  canvas.addEventListener("wheel", (event) => {
    if (!(event.ctrlKey || event.metaKey || event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY) || document.activeElement === canvas)) return;
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan((event.deltaX || event.deltaY) / 800);
    else zoom(Math.exp(event.deltaY / 300), timeAt(event));
  }, { passive: false });
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.offsetX, begin: view.begin, end: view.end, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag) {
      const shift = (drag.x - event.offsetX) / scale();
      drag.moved ||= Math.abs(drag.x - event.offsetX) > 3;
      if (drag.moved) { view.begin = drag.begin + shift; view.end = drag.end + shift; clampView(); }
    }
    const slice = drag?.moved ? null : sliceAt(event);
    tooltip.hidden = !slice;
    canvas.classList.toggle("pointing", Boolean(slice));
    if (!slice) return;
    tooltip.textContent = describe(slice);
    const left = Math.min(event.offsetX + 12, canvas.clientWidth - tooltip.offsetWidth - 4);
    tooltip.style.setProperty("inset-inline-start", `${Math.max(left, 0)}px`);
    tooltip.style.setProperty("inset-block-start", `${event.offsetY + 16}px`);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (drag && !drag.moved) select(sliceAt(event));
    drag = null;
  });
  canvas.addEventListener("pointerleave", () => { tooltip.hidden = true; });
  new ResizeObserver(schedule).observe(canvas);
  canvas.addEventListener("themechange", schedule);

  const button = (text, label, action) => el("button", { type: "button", "aria-label": label, title: label, on: { click: action } }, text);
  const toolbar = el("div", { class: "toolbar" },
    button("+", "Zoom in", () => zoom(0.5)), button("−", "Zoom out", () => zoom(2)),
    button("◀", "Pan left", () => pan(-0.4)), button("▶", "Pan right", () => pan(0.4)),
    button("All", "Show all", all),
    el("span", { class: "muted small" }, "Drag to pan, Ctrl + wheel to zoom; keys + − ← → 0, and [ ] to step through launches."));
  return el("div", { class: "timeline" }, toolbar, el("div", { class: "canvas-box" }, canvas, tooltip), status, selection, inView);
}

/** Collects busy time by kernel for columns of one pixel. */
class PixelColumns {
  constructor(width, perPixel) {
    this.width = width;
    this.perPixel = perPixel;
    this.byPixel = new Map();
  }

  add(pixel, kernel, busy) {
    if (pixel < 0 || pixel >= this.width) return;
    let kernels = this.byPixel.get(pixel);
    if (!kernels) this.byPixel.set(pixel, (kernels = new Map()));
    kernels.set(kernel, (kernels.get(kernel) ?? 0) + busy);
  }

  /** Calls `visit(pixel, [[kernel, share of the pixel's time], …])`; the shares sum to at most 1. */
  forEach(visit) {
    for (const [pixel, kernels] of this.byPixel) {
      const sum = [...kernels.values()].reduce((total, busy) => total + busy, 0);
      const whole = Math.max(this.perPixel, sum);
      visit(pixel, [...kernels].sort((a, b) => a[0] - b[0]).map(([kernel, busy]) => [kernel, busy / whole]));
    }
  }
}

function nouns(each) {
  return { launch: ["launch", "launches"], device: ["execution"], mark: ["mark"], compile: ["compilation"] }[each.kind];
}

function drawAxis(context, gutter, view, scale, width, height, colours) {
  const step = niceStep(110 / scale);
  context.fillStyle = colours.muted;
  context.strokeStyle = colours.line;
  context.lineWidth = 1;
  for (let tick = Math.ceil(view.begin / step) * step; tick <= view.end; tick += step) {
    const at = Math.round(gutter + (tick - view.begin) * scale) + 0.5;
    if (at < gutter) continue;
    context.beginPath();
    context.moveTo(at, AXIS - 6);
    context.lineTo(at, height);
    context.stroke();
    if (at + 60 < width) context.fillText(formatNanoseconds(Math.round(tick)), at + 3, AXIS / 2 - 2);
  }
}

/** Room for the longest label, within bounds. */
function gutterWidth(context, rows) {
  context.font = FONT;
  const longest = Math.max(0, ...rows.map((each) => context.measureText(each.label).width));
  return Math.min(Math.max(Math.ceil(longest) + 14, NARROWEST_GUTTER), WIDEST_GUTTER);
}

/** The smallest 1, 2 or 5 times a power of ten that is at least `least`. */
function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least) ?? 10 * power;
}

function clipText(context, text, width) {
  if (context.measureText(text.slice(0, 200)).width <= width && text.length <= 200) return text;
  let shown = text.slice(0, Math.max(Math.floor(width / 5), 0));
  while (shown && context.measureText(`${shown}…`).width > width) shown = shown.slice(0, -1);
  return shown ? `${shown}…` : "";
}

function sliceDetails(report, { row: each, index }, name) {
  if (each.kind === "launch") return launchPanel(report, each.indices[index]);
  const shared = [["Begin", formatMoment(each.begin[index])], ["Duration", formatNanoseconds(each.end[index] - each.begin[index])]];
  if (each.kind === "mark") {
    const attributes = Object.entries(each.items[index].attributes);
    return panel(`Mark ${shortText(name)}`, facts([...shared, ...attributes.map(([key, value]) => [shortText(key, 80), shortText(value)])]));
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
function inViewTable(report, rows, view, bins, binWidth, scale) {
  const sums = new Map();
  const add = (kernel, count, busy) => {
    const sum = sums.get(kernel) ?? { kernel, count: 0, busy: 0 };
    sum.count += count;
    sum.busy += busy;
    sums.set(kernel, sum);
  };
  for (const each of rows.filter((r) => r.kind === "launch")) {
    if (each.bins && binWidth * scale < 24) {
      for (const i of each.bins) {
        const begin = bins.bin[i] * binWidth;
        if (begin + binWidth >= view.begin && begin <= view.end) add(bins.kernel[i], bins.count[i], bins.busy[i]);
      }
      continue;
    }
    for (let i = lowerBound(each.reach, view.begin), last = lowerBound(each.begin, view.end); i < last; i += 1) {
      if (each.end[i] >= view.begin) add(kernelAt(each.source, each.indices[i]), 1, each.end[i] - each.begin[i]);
    }
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
