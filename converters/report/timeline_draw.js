"use strict";
// Draws the timeline's rows into a canvas: single slices, or where there are too many, columns.

const NARROWEST_GUTTER = 80;
const WIDEST_GUTTER = 210;
const FONT = "12px system-ui, sans-serif";
const AXIS = 24;
const LANE = 18;
const GAP = 10;
/** With more slices than this in view, a row is drawn as columns of one pixel. */
const SINGLE_SLICES = 6000;
/** Bins narrower than this many pixels are drawn in place of the launches that are on the page. */
const BIN_PIXELS = 24;

class TimelineDrawing {
  constructor(canvas, report, rows, bins, binWidth) {
    Object.assign(this, { canvas, report, rows, bins, binWidth });
    this.context = canvas.getContext("2d");
    this.gutter = gutterWidth(this.context, rows);
    this.view = { begin: 0, end: 1 };
    this.selected = null;
    /** Where each row was drawn: {top, bottom, row, last, binned}. */
    this.hits = [];
    /** What is not drawn one by one. */
    this.notes = [];
  }

  /** Pixels a nanosecond. */
  get scale() {
    return Math.max(this.canvas.clientWidth - this.gutter, 1) / (this.view.end - this.view.begin);
  }

  get height() {
    return AXIS + this.rows.reduce((sum, each) => sum + each.lanes * LANE + GAP, 0);
  }

  x(time) {
    return this.gutter + (time - this.view.begin) * this.scale;
  }

  time(x) {
    return this.view.begin + (x - this.gutter) / this.scale;
  }

  draw() {
    const ratio = window.devicePixelRatio || 1;
    const width = this.canvas.clientWidth;
    this.canvas.style.setProperty("block-size", `${this.height}px`);
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.context.font = FONT;
    this.context.textBaseline = "middle";
    this.colours = themeColours();
    this.hits = [];
    this.notes = [];
    this.drawAxis(width);
    let top = AXIS;
    for (const each of this.rows) {
      this.drawRow(each, top, width);
      top += each.lanes * LANE + GAP;
    }
  }

  drawAxis(width) {
    const { context, colours, view } = this;
    const step = niceStep(110 / this.scale);
    context.fillStyle = colours.muted;
    context.strokeStyle = colours.line;
    context.lineWidth = 1;
    for (let tick = Math.ceil(view.begin / step) * step; tick <= view.end; tick += step) {
      const at = Math.round(this.x(tick)) + 0.5;
      if (at < this.gutter) continue;
      context.beginPath();
      context.moveTo(at, AXIS - 6);
      context.lineTo(at, this.height);
      context.stroke();
      if (at + 60 < width) context.fillText(axisLabel(tick, step), at + 3, AXIS / 2 - 2);
    }
  }

  isBinned(each) {
    return Boolean(each.bins) && this.binWidth * this.scale < BIN_PIXELS;
  }

  drawRow(each, top, width) {
    const { context, colours, gutter, view } = this;
    const first = lowerBound(each.reach, view.begin);
    const last = lowerBound(each.begin, view.end);
    const binned = this.isBinned(each);
    const height = each.lanes * LANE;
    context.save();
    context.beginPath();
    context.rect(gutter, top, width - gutter, height);
    context.clip();
    context.fillStyle = colours.track;
    context.fillRect(gutter, top, width - gutter, height);
    if (binned) this.drawBins(each, top);
    else if (last - first > SINGLE_SLICES) this.drawColumns(each, first, last, top);
    else this.drawSlices(each, first, last, top);
    context.restore();
    context.fillStyle = colours.text;
    context.fillText(clipText(context, each.label, gutter - 8), 4, top + height / 2);
    this.hits.push({ top, bottom: top + height, row: each, last, binned });
  }

  drawSlices(each, first, last, top) {
    const { context, colours } = this;
    for (let i = first; i < last; i += 1) {
      const left = Math.max(this.x(each.begin[i]), this.gutter - 2);
      const right = Math.min(this.x(each.end[i]), this.canvas.clientWidth + 2);
      const at = top + each.lane[i] * LANE;
      const width = Math.max(right - left, 1);
      context.fillStyle = this.plainColour(each) ?? kernelColour(sliceKernel(each, i));
      context.fillRect(left, at + 1, width > 3 ? width - 0.5 : width, LANE - 2);
      if (this.selected?.row === each && this.selected.index === i) this.outline(left, at, width);
      if (width <= 28) continue;
      context.fillStyle = this.plainColour(each) ? colours.text : colours.onKernel;
      context.fillText(clipText(context, sliceName(this.report, each, i), width - 8), left + 4, at + LANE / 2 + 0.5);
    }
  }

  outline(left, top, width) {
    this.context.strokeStyle = this.colours.text;
    this.context.lineWidth = 2;
    this.context.strokeRect(left + 1, top + 1, Math.max(width - 2, 1), LANE - 2);
  }

  plainColour(each) {
    return { mark: this.colours.mark, compile: this.colours.compile }[each.kind];
  }

  /** One column a pixel: its height is the share of time that was busy, split by kernel. */
  drawColumns(each, first, last, top) {
    const columns = new PixelColumns(this.canvas.clientWidth - this.gutter, 1 / this.scale);
    for (let i = first; i < last; i += 1) {
      const pixel = Math.floor((each.begin[i] - this.view.begin) * this.scale);
      columns.add(Math.max(pixel, 0), sliceKernel(each, i), each.end[i] - each.begin[i]);
    }
    this.paintColumns(columns, each, top);
    this.notes.push(`${each.label}: ${plural(last - first, ...nouns(each))} in view, drawn as one column a pixel (height: share of time, split by kernel); zoom in for single ones`);
  }

  drawBins(each, top) {
    const { bins, binWidth, scale, view } = this;
    const columns = new PixelColumns(this.canvas.clientWidth - this.gutter, 1 / scale);
    let total = 0;
    for (const i of each.bins) {
      const begin = bins.bin[i] * binWidth;
      if (begin + binWidth < view.begin || begin > view.end) continue;
      total += bins.count[i];
      const from = (begin - view.begin) * scale;
      columns.spread(from, from + binWidth * scale, bins.kernel[i], bins.busy[i]);
    }
    this.paintColumns(columns, each, top);
    this.notes.push(`${each.label}: ${plural(total, ...nouns(each))} in view, counted in bins of ${formatNanoseconds(binWidth)}; zoom in for the single ones on this page`);
  }

  paintColumns(columns, each, top) {
    const height = each.lanes * LANE - 2;
    const plain = this.plainColour(each);
    columns.forEach((pixel, parts) => {
      let bottom = top + 1 + height;
      for (const [kernel, share] of parts) {
        const tall = Math.max(height * share, parts.length === 1 ? 1.5 : 0.5);
        this.context.fillStyle = plain ?? kernelColour(kernel);
        this.context.fillRect(this.gutter + pixel, bottom - tall, 1, tall);
        bottom -= tall;
      }
    });
  }

  /** The slice at a point of the canvas, or the nearest within three pixels: {row, index}. */
  sliceAt(x, y) {
    const hit = this.hits.find((each) => y >= each.top && y < each.bottom);
    if (!hit || hit.binned || x < this.gutter) return null;
    const [time, slack] = [this.time(x), 3 / this.scale];
    const lane = Math.floor((y - hit.top) / LANE);
    const { begin, end, reach } = hit.row;
    let best = null;
    for (let i = lowerBound(reach, time - slack); i < hit.last && begin[i] <= time + slack; i += 1) {
      const distance = Math.max(begin[i] - time, time - end[i], 0);
      if (distance > slack || hit.row.lane[i] !== lane) continue;
      if (!best || distance <= best.distance) best = { row: hit.row, index: i, distance };
    }
    return best;
  }
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

  /** Share busy time out over the pixels from `from` to `to`, which need not be whole. */
  spread(from, to, kernel, busy) {
    for (let pixel = Math.max(Math.floor(from), 0); pixel < to && pixel < this.width; pixel += 1) {
      const covered = Math.min(to, pixel + 1) - Math.max(from, pixel);
      this.add(pixel, kernel, (busy * covered) / (to - from));
    }
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

function sliceKernel(each, i) {
  return each.indices ? kernelAt(each.source, each.indices[i]) : -1;
}

function sliceName(report, each, i) {
  if (each.kind === "mark") return each.items[i].name ?? "";
  if (each.kind === "compile") return `compile ${kernelName(report, report.variants[each.items[i][0]].kernel)}`;
  return kernelName(report, sliceKernel(each, i));
}

function nouns(each) {
  return { launch: ["launch", "launches"], device: ["execution"], mark: ["mark"], compile: ["compilation"] }[each.kind];
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

/** Ticks of one axis share their unit's precision: 1.25 s, not 1.3 s twice. */
function axisLabel(tick, step) {
  const [size, unit] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]].find(([each]) => step * 10 >= each) ?? [1, "ns"];
  const digits = Math.max(0, -Math.floor(Math.log10(step / size) + 1e-9));
  return `${(tick / size).toFixed(Math.min(digits, 9))} ${unit}`;
}

function clipText(context, text, width) {
  if (context.measureText(text.slice(0, 200)).width <= width && text.length <= 200) return text;
  let shown = text.slice(0, Math.max(Math.floor(width / 5), 0));
  while (shown && context.measureText(`${shown}…`).width > width) shown = shown.slice(0, -1);
  return shown ? `${shown}…` : "";
}
