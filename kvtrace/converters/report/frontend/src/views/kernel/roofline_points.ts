// Calls under the roof of the device, as series of a curve: rates over intensity.

import type { Call, Limits } from "../../data/types";

/** A call that both computes and moves bytes. */
export interface Point {
  /** Place in the report's calls. */
  readonly call: number;
  /** FLOPs per distinct byte. */
  readonly intensity: number;
  /** FLOPs per second that its mix of operations could reach. */
  readonly roof: number;
  /** At best, for its intensity. */
  readonly attainable: number;
  /** Over the median time on the device; null where that was not recorded. */
  readonly reached: number | null;
}

export function pointsOf(calls: readonly Call[], indices: readonly number[]): readonly Point[] {
  return indices.flatMap((call) => {
    const position = calls[call]?.roofline;
    if (!position) return [];
    const { intensity, roof, attainable, reached } = position;
    if (!intensity || !roof || !attainable) return [];
    return [{ call, intensity, roof, attainable, reached }];
  });
}

export interface Roof {
  readonly label: string;
  /** FLOPs per second. */
  readonly rate: number;
}

/** Roofs that are nearer than this are one. */
const SAME_ROOF = 1.05;
const MOST_ROOFS = 4;

/** The compute roofs of the points, highest first, each under its name in the limits if it has one. */
export function roofsOf(points: readonly Point[], limits: Limits): readonly Roof[] {
  const rates = [...new Set(points.map(({ roof }) => roof))].sort((a, b) => b - a);
  const roofs: Roof[] = [];
  for (const rate of rates) {
    const last = roofs.at(-1);
    if (roofs.length === MOST_ROOFS || (last && last.rate / rate < SAME_ROOF)) continue;
    roofs.push({ label: peakName(rate, limits), rate });
  }
  return roofs;
}

/** Names of a device's peaks are near the peak itself only; a mix of types is in between. */
function peakName(rate: number, { matrix, vector }: Limits): string {
  const peaks = [
    ...Object.entries(vector).map(([type, peak]) => [`vector ${type}`, peak] as const),
    ...Object.entries(matrix).map(([type, peak]) => [`matrix ${type}`, peak] as const),
  ];
  const named = peaks.filter(([, peak]) => Math.abs(rate / peak - 1) < 0.01).map(([name]) => name);
  return named.length ? named.slice(0, 2).join(" or ") : "mix of operations";
}

export interface Chart {
  readonly x: readonly number[];
  /** For each place of `x` the point there; null where a roof bends or ends. */
  readonly points: readonly (Point | null)[];
}

/** Places of the points and of what the roofs need, ascending. */
export function chartOf(
  points: readonly Point[],
  roofs: readonly Roof[],
  bandwidth: number,
): Chart {
  const ridges = roofs.map(({ rate }) => rate / bandwidth);
  const all = [...points.map(({ intensity }) => intensity), ...ridges];
  const ends = [Math.min(...all) / 4, Math.max(...all) * 4];
  const places = [
    ...points.map((point) => ({ x: point.intensity, point })),
    ...[...ridges, ...ends].map((x) => ({ x, point: null })),
  ].sort((a, b) => a.x - b.x);
  return { x: places.map(({ x }) => x), points: places.map(({ point }) => point) };
}
