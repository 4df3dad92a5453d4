// A slider and a number that say the same: one of so many places, or none of them.

import type { ComponentChildren } from "preact";
import { formatCount } from "../data/format";

interface SliderProps {
  readonly name: string;
  /** For those who do not see it; the slider adds that it is one. */
  readonly label: string;
  readonly size: number;
  /** From 0 on; null means all. */
  readonly value: number | null;
  readonly id?: string;
  readonly children?: ComponentChildren;
  onChange(value: number): void;
}

export function Slider({ name, label, size, value, id, children, onChange }: SliderProps) {
  const change = (event: { readonly currentTarget: HTMLInputElement }): void => {
    const text = event.currentTarget.value;
    const number = Math.round(Number(text));
    if (text === "" || !Number.isFinite(number)) return;
    onChange(Math.min(Math.max(number, 0), size - 1));
  };
  const shared = { min: "0", max: size - 1, disabled: size < 2 };
  return (
    <div class="slider" id={id}>
      <span aria-hidden="true">{name}</span>
      <input
        type="range"
        aria-label={`${label}, slider`}
        value={value ?? 0}
        onInput={change}
        {...shared}
      />
      <input
        type="number"
        aria-label={label}
        data-axis={name}
        value={value ?? ""}
        placeholder="all"
        onChange={change}
        {...shared}
      />
      <span class="muted small">of {formatCount(size)}</span>
      {children}
    </div>
  );
}
