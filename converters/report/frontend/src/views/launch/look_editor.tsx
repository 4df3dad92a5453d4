// How a tensor is viewed: its shape, which axis is where, and one slice, or all.

import type { ComponentChildren } from "preact";
import { chosen, setQuery } from "../../app/router";
import { formatCount } from "../../data/format";
import { AddressChoice, Choice } from "../../parts/search";
import { Slider } from "../../parts/slider";
import { Note } from "../../parts/text";
import type { Look } from "../../accesses/look";
import { AS_IT_IS } from "./state";

const LAYOUTS = [
  ["slice", "one slice"],
  ["side", "slices side by side"],
] as const;
const ROLES = ["Columns", "Rows", "Slices"];

export function LookEditor({ look }: { look: Look }) {
  const { axes, order, fixed } = look;
  const swap = (position: number, axis: number | undefined): void => {
    const [own, other] = [order[position], order.indexOf(axis ?? -1)];
    const swapped = order.map((each, at) => (at === position ? axis : at === other ? own : each));
    setQuery({ axes: swapped.join(","), at: null, slice: null });
  };
  const open = chosen("look") === "1";
  const names = axes.map(({ size }, axis) => `axis ${axis} (${formatCount(size)})`);
  return (
    <details
      class="launch-look"
      open={open}
      onToggle={(event) => {
        const now = event.currentTarget.open;
        if (now !== open) setQuery({ look: now ? "1" : null });
      }}
    >
      <summary>Edit tensor view</summary>
      <div class="toolbar" id="look-editor">
        <Labeled name="View it as">
          <input
            type="text"
            id="look-shape"
            value={chosen("shape") ?? ""}
            placeholder={axes.map(({ size }) => size).join(" x ")}
            onChange={(event) => setQuery({ ...AS_IT_IS, shape: event.currentTarget.value })}
          />
        </Labeled>
        {ROLES.slice(0, axes.length)
          .map((label, back) => (
            <Choice
              key={label}
              label={label}
              value={String(order.at(-1 - back))}
              options={names.map((name, axis) => [String(axis), name])}
              onChoose={(value) => swap(order.length - 1 - back, Number(value))}
            />
          ))
          .reverse()}
        {axes.length >= 2 ? (
          <button type="button" id="transpose" onClick={() => swap(order.length - 1, order.at(-2))}>
            Transpose
          </button>
        ) : null}
        {fixed.map(({ axis, place }, position) => (
          <Labeled key={axis} name={`axis ${axis} at`}>
            <input
              type="number"
              min="0"
              max={(axes[axis]?.size ?? 1) - 1}
              value={place}
              onChange={(event) => {
                const places: (number | string)[] = fixed.map((each) => each.place);
                places[position] = event.currentTarget.value;
                setQuery({ at: places.join(",") });
              }}
            />
          </Labeled>
        ))}
        <button type="button" onClick={() => setQuery({ ...AS_IT_IS, lay: null })}>
          Recorded shape
        </button>
      </div>
      {look.problem ? <Note kind="warning">{look.problem}</Note> : null}
    </details>
  );
}

function Labeled(props: { name: string; children: ComponentChildren }) {
  return (
    <label class="control">
      <span>{props.name}</span>
      {props.children}
    </label>
  );
}

/** Which slice, and whether the others are seen too, those past the tensor's end among them. */
export function SliceBar({ slice, slices }: { slice: number; slices: number }) {
  return (
    <div class="toolbar" id="slice-bar">
      <AddressChoice label="Layout" name="lay" options={LAYOUTS} />
      <Slider
        name="Slice"
        label="Slice"
        size={slices}
        value={slice}
        onChange={(value) => setQuery({ slice: value })}
      />
    </div>
  );
}
