"use strict";
// What the timeline draws: a row for marks, compilations and launches of each thread, and for each
// device stream, with its slices in lanes.

const MAX_LANES = 4;

/** Rows from top to bottom. A row: {kind, label, count, begin, end, lane, reach, lanes, …}. */
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
