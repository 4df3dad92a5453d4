// A plot in SVG: axes with ticks, and what is drawn over them.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { niceStep } from "../data/format";

/** From the least to the greatest value that is seen. */
export interface PlotAxis {
  readonly label: string;
  readonly low: number;
  readonly high: number;
  format(value: number): string;
  /** Ticks are at powers of two, as for bytes. */
  readonly binary?: boolean;
}

interface PlotProps {
  /** What it shows, for those who do not see it. */
  readonly label: string;
  readonly x: PlotAxis;
  readonly y: PlotAxis;
  readonly logarithmic?: boolean;
  readonly height: number;
  /** The value of x under the pointer; null where it leaves. */
  onPoint?(x: number | null): void;
  onChoose?(x: number): void;
  /** With it the plot can have the focus. */
  onKeyDown?(event: KeyboardEvent): void;
  /** Draws at places in the plot. */
  children(x: (value: number) => number, y: (value: number) => number): ComponentChildren;
}

/** Units across on a wide screen; a narrow one has fewer, so that labels keep their size. */
const [WIDEST, NARROWEST] = [960, 340];
const [LEFT, BELOW] = [84, 40];

function usePlotWidth(): number {
  const width = (): number =>
    Math.min(Math.max(document.documentElement.clientWidth - 32, NARROWEST), WIDEST);
  const [shown, setShown] = useState(width());
  useEffect(() => {
    const onResize = (): void => setShown(width());
    window.addEventListener("resize", onResize);
    return () => window.removeEventListener("resize", onResize);
  }, []);
  return shown;
}

export function Plot({ label, x, y, logarithmic = false, height, ...props }: PlotProps) {
  const width = usePlotWidth();
  const share = (axis: PlotAxis, value: number): number =>
    logarithmic
      ? Math.log(value / axis.low) / Math.log(axis.high / axis.low)
      : (value - axis.low) / (axis.high - axis.low || 1);
  const right = (value: number): number => LEFT + share(x, value) * (width - LEFT - 8);
  const down = (value: number): number => 8 + (1 - share(y, value)) * (height - BELOW - 8);
  const valueAt = (event: MouseEvent): number => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const at = (((event.clientX - box.left) / box.width) * width - LEFT) / (width - LEFT - 8);
    return x.low + Math.min(Math.max(at, 0), 1) * (x.high - x.low);
  };
  const { onPoint, onChoose, onKeyDown } = props;
  return (
    <svg
      class="plot"
      viewBox={`0 0 ${width} ${height}`}
      role={onPoint ? "img" : "group"}
      aria-label={label}
      {...(onPoint && { onMouseMove: (event: MouseEvent) => onPoint(valueAt(event)) })}
      {...(onPoint && { onMouseLeave: () => onPoint(null) })}
      {...(onKeyDown && { onKeyDown, tabindex: 0 })}
      {...(onChoose && { onClick: (event: MouseEvent) => onChoose(valueAt(event)) })}
    >
      {ticksOf(x, logarithmic).map((tick) => (
        <g key={tick}>
          <line x1={right(tick)} x2={right(tick)} y1={8} y2={height - BELOW} />
          {/* the last one ends with the plot, which would cut it off */}
          <text x={Math.min(right(tick), width - 24)} y={height - BELOW + 18} text-anchor="middle">
            {tickText(x, tick)}
          </text>
        </g>
      ))}
      {ticksOf(y, logarithmic).map((tick) => (
        <g key={tick}>
          <line x1={LEFT} x2={width - 8} y1={down(tick)} y2={down(tick)} />
          <text x={LEFT - 6} y={down(tick) + 4} text-anchor="end">
            {tickText(y, tick)}
          </text>
        </g>
      ))}
      <text x={width / 2} y={height - 6} text-anchor="middle">
        {x.label}
      </text>
      <text transform={`translate(12 ${(height - BELOW) / 2}) rotate(-90)`} text-anchor="middle">
        {y.label}
      </text>
      {props.children(right, down)}
    </svg>
  );
}

/** A round value without the zeros that only show how well a figure is known. */
function tickText({ format }: PlotAxis, tick: number): string {
  return format(tick).replace(/\.0+(?= |$)/, "");
}

/** Powers of ten, or round steps of which a few fit. */
function ticksOf({ low, high, binary }: PlotAxis, logarithmic: boolean): number[] {
  if (logarithmic) {
    const [first, last] = [Math.ceil(Math.log10(low)), Math.floor(Math.log10(high))];
    return Array.from({ length: Math.max(last - first + 1, 0) }, (_, at) => 10 ** (first + at));
  }
  const least = (high - low) / 6;
  const step = binary ? 2 ** Math.max(0, Math.ceil(Math.log2(least))) : niceStep(least);
  const first = Math.ceil(low / step);
  return Array.from(
    { length: Math.floor(high / step) - first + 1 },
    (_, at) => (first + at) * step,
  );
}
