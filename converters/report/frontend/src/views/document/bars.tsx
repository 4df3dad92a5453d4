// Groups of bars on one scale: each with its text, and a line for the spread of what was measured.

import { shortText } from "../../data/format";
import type { Bar, BarGroup } from "../../data/types";

const [WIDTH, NAMES, VALUES] = [1100, 250, 190];
const [BAR, GAP] = [14, 8];
const LONGEST_NAME = 36;

interface Props {
  readonly label: string;
  readonly groups: readonly BarGroup[];
  readonly kinds: Readonly<Record<string, string>>;
}

export function Bars({ label, groups, kinds }: Props) {
  const used = new Set(groups.flatMap(({ bars }) => bars.map(({ kind }) => kind)));
  const longest = Math.max(...groups.flatMap(({ bars }) => bars.map(({ length }) => length))) || 1;
  const scale = (WIDTH - NAMES - VALUES) / longest;
  let next = 2;
  const placed = groups.map((group) => {
    const top = next;
    next += group.bars.length * BAR + GAP;
    return { group, top };
  });
  return (
    <>
      <p class="document-legend">
        {Object.entries(kinds)
          .filter(([kind]) => used.has(kind))
          .map(([kind, text]) => (
            <span key={kind}>
              <span class={`swatch ${kind}`} aria-hidden="true" /> {text}
            </span>
          ))}
      </p>
      <svg
        class="plot document-bars"
        viewBox={`0 0 ${WIDTH} ${next}`}
        role="img"
        aria-label={label}
      >
        {placed.map(({ group, top }) => (
          <g key={group.name} class="call">
            <title>{group.meaning}</title>
            <text x="0" y={top + BAR - 3}>
              {shortText(group.name, LONGEST_NAME)}
            </text>
            {group.bars.map((bar, place) => (
              <OneBar key={place} bar={bar} kinds={kinds} scale={scale} top={top + place * BAR} />
            ))}
          </g>
        ))}
      </svg>
    </>
  );
}

function OneBar(props: { bar: Bar; kinds: Props["kinds"]; scale: number; top: number }) {
  const { kind, length, text, spread } = props.bar;
  const [low, high] = (spread ?? [0, 0]).map((edge) => edge * props.scale) as [number, number];
  const middle = props.top + (BAR - 1) / 2;
  return (
    <>
      <rect class={kind} x={NAMES} y={props.top} width={length * props.scale} height={BAR - 1}>
        <title>{`${props.kinds[kind] ?? kind}: ${text}`}</title>
      </rect>
      {spread ? <line x1={NAMES + low} x2={NAMES + high} y1={middle} y2={middle} /> : null}
      <text x={NAMES + Math.max(length * props.scale, high) + 6} y={props.top + BAR - 3}>
        {text}
      </text>
    </>
  );
}
