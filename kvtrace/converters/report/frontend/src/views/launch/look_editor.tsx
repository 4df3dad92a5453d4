// How a tensor is looked at: its shape, which axis is where, and one slice, or all.

import { formatCount } from "../../data/format";
import { Choice } from "../../parts/search";
import { Slider } from "../../parts/slider";
import { Note } from "../../parts/text";
import { AS_IT_IS, choose, chosen } from "./state";
import type { Look } from "./tensor";

export function LookEditor(props: { look: Look }) {
  const { look } = props;
  const rank = look.axes.length;
  const swap = (position: number, axis: number): void => {
    const order = [...look.order];
    const other = order.indexOf(axis);
    [order[other], order[position]] = [order[position] ?? 0, axis];
    choose({ axes: order.join(","), at: null, slice: null });
  };
  const names = look.axes.map(
    (axis, number) => [String(number), `${axis.name} (${formatCount(axis.size)})`] as const,
  );
  const choosers = ["Slices", "Rows", "Columns"]
    .slice(-rank || 3)
    .map((label, place, { length }) => {
      const position = rank - length + place;
      return (
        <Choice
          key={label}
          label={label}
          value={String(look.order[position])}
          options={names}
          onChoose={(value) => swap(position, Number(value))}
        />
      );
    });
  return (
    <details
      class="launch-look"
      open={chosen("look") === "1"}
      onToggle={(event) => {
        const open = event.currentTarget.open;
        if (open !== (chosen("look") === "1")) choose({ look: open ? "1" : null });
      }}
    >
      <summary>Edit tensor view</summary>
      <div class="toolbar" id="look-editor">
        <label class="control">
          <span>Look at it as</span>
          <input
            type="text"
            id="look-shape"
            value={chosen("shape") ?? ""}
            placeholder={look.axes.map((axis) => axis.size).join(" x ")}
            onChange={(event) => choose({ ...AS_IT_IS, shape: event.currentTarget.value || null })}
          />
        </label>
        {choosers}
        {rank >= 2 ? (
          <button
            type="button"
            id="transpose"
            onClick={() => swap(rank - 1, look.order[rank - 2] ?? 0)}
          >
            Transpose
          </button>
        ) : null}
        {look.fixed.map((axis, position) => (
          <label class="control" key={axis.at}>
            <span>{axis.name} at</span>
            <input
              type="number"
              min="0"
              max={axis.size - 1}
              value={axis.place}
              onChange={(event) => {
                const places = look.fixed.map((each) => each.place);
                places[position] = Number(event.currentTarget.value);
                choose({ at: places.join(",") });
              }}
            />
          </label>
        ))}
        <button type="button" onClick={() => choose({ ...AS_IT_IS, lay: null })}>
          As it is
        </button>
      </div>
      {look.problem ? <Note kind="warning">{look.problem}</Note> : null}
    </details>
  );
}

/** Which slice, and whether the others are seen too, those past the tensor's end among them. */
export function SliceBar({ slice, slices }: { slice: number; slices: number }) {
  return (
    <div class="toolbar" id="slice-bar">
      <Choice
        label="Layout"
        value={chosen("lay") === "side" ? "side" : "slice"}
        options={[
          ["slice", "one slice"],
          ["side", "slices side by side"],
        ]}
        onChoose={(value) => choose({ lay: value === "slice" ? null : value })}
      />
      <Slider
        name="Slice"
        label="Slice"
        size={slices}
        value={slice}
        onChange={(value) => choose({ slice: value })}
      />
    </div>
  );
}
