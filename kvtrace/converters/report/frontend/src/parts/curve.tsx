// Curves and scatters by uPlot: small, and drawn in a canvas.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { theme } from "../app/theme";
import { themeColours } from "./colours";

export interface Series {
  readonly label: string;
  /** One value for each of `x`; null leaves a gap. */
  readonly values: readonly (number | null)[];
  readonly kind: "line" | "points" | "steps";
  readonly colour?: string;
}

interface CurveProps {
  /** What it shows, for those who do not see it. */
  readonly label: string;
  readonly x: readonly number[];
  readonly series: readonly Series[];
  readonly xLabel: string;
  readonly yLabel: string;
  readonly logarithmic?: boolean;
  readonly formatX?: (value: number) => string;
  readonly formatY?: (value: number) => string;
  /** Height in CSS pixels. */
  readonly height?: number;
  /** The place in `x` of the mark (of a series of points) under the pointer; null: of none. */
  readonly onPoint?: (place: number | null) => void;
  /** A click on such a mark. */
  readonly onChoose?: (place: number) => void;
}

export function Curve(props: CurveProps) {
  const box = useRef<HTMLDivElement>(null);
  const shown = theme.value;
  const height = props.height ?? 260;
  const latest = useRef(props);
  latest.current = props;

  useEffect(() => {
    const place = box.current;
    if (!place) return undefined;
    const data: uPlot.AlignedData = [[...props.x], ...props.series.map((each) => [...each.values])];
    const plot = new uPlot(options(props, place.clientWidth, height), data, place);
    if (props.onPoint ?? props.onChoose) followMarks(plot, latest);
    const observer = new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height }));
    observer.observe(place);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [props.x, props.series, shown, height]);

  return (
    <div
      class="curve"
      ref={box}
      role="img"
      aria-label={props.label}
      style={{ minBlockSize: `${height}px` }}
    />
  );
}

/** How far from a mark, in CSS pixels, the pointer is still at it. */
const NEAR = 14;

/** Tell which mark the pointer is at; the plot takes its listeners with it. */
function followMarks(plot: uPlot, latest: { readonly current: CurveProps }): void {
  const { over } = plot;
  let at: number | null = null;
  over.addEventListener("mousemove", (event) => {
    const now = markUnder(plot, latest.current.series, event);
    if (now === at) return;
    at = now;
    over.style.cursor = now === null ? "" : "pointer";
    latest.current.onPoint?.(now);
  });
  over.addEventListener("click", (event) => {
    const chosen = markUnder(plot, latest.current.series, event);
    if (chosen !== null) latest.current.onChoose?.(chosen);
  });
}

function markUnder(plot: uPlot, series: readonly Series[], event: MouseEvent): number | null {
  const box = plot.over.getBoundingClientRect();
  const [left, top] = [event.clientX - box.left, event.clientY - box.top];
  let [nearest, distance]: [number | null, number] = [null, NEAR];
  for (const { kind, values } of series) {
    if (kind !== "points") continue;
    values.forEach((value, place) => {
      const x = plot.data[0][place];
      if (value === null || x === undefined) return;
      const away = Math.hypot(plot.valToPos(x, "x") - left, plot.valToPos(value, "y") - top);
      if (away < distance) [nearest, distance] = [place, away];
    });
  }
  return nearest;
}

function options(props: CurveProps, width: number, height: number): uPlot.Options {
  const colours = themeColours();
  const axis = (label: string, format?: (value: number) => string): uPlot.Axis => ({
    label,
    stroke: colours.muted,
    grid: { stroke: colours.line, width: 1 },
    ticks: { stroke: colours.line, width: 1 },
    ...(format
      ? { values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : format(tick))) }
      : {}),
  });
  return {
    width,
    height,
    scales: {
      x: { time: false, distr: props.logarithmic ? 3 : 1 },
      y: { distr: props.logarithmic ? 3 : 1 },
    },
    axes: [axis(props.xLabel, props.formatX), { ...axis(props.yLabel, props.formatY), size: 72 }],
    series: [
      { label: props.xLabel, ...valueOf(props.formatX) },
      ...props.series.map((each) => ({
        label: each.label,
        stroke: each.colour ?? colours.accent,
        width: each.kind === "points" ? 0 : 1.5,
        ...pathsOf(each.kind),
        points: { show: each.kind === "points", size: 7, fill: each.colour ?? colours.accent },
        ...valueOf(props.formatY),
      })),
    ],
  };
}

function valueOf(format?: (value: number) => string): Pick<uPlot.Series, "value"> {
  if (!format) return {};
  return { value: (_, value) => (value === null ? "–" : format(value)) };
}

function pathsOf(kind: Series["kind"]): Pick<uPlot.Series, "paths"> {
  const paths = kind === "steps" ? uPlot.paths.stepped?.({ align: 1 }) : undefined;
  return paths ? { paths } : {};
}
