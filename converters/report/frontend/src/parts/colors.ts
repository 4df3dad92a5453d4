// Colors for canvases, from the theme's custom properties; and kernels' own colors.

import { theme } from "../app/theme";

const NAMES = [
  "back",
  "raised",
  "text",
  "muted",
  "line",
  "edge",
  "accent",
  "accent-soft",
  "track",
  "mark",
  "compile",
  "on-kernel",
  "no-kernel",
  "error",
  "error-soft",
  "warning",
  "warning-soft",
  "fine",
  "fine-soft",
] as const;

export type ColorName = (typeof NAMES)[number];
export type Colors = Readonly<Record<ColorName, string>>;

const cache = new Map<string, Colors>();

/** The theme's colors by the names of their custom properties, without the dashes in front. */
export function themeColors(): Colors {
  const name = theme.value;
  let colors = cache.get(name);
  if (!colors) {
    const style = getComputedStyle(document.documentElement);
    const entries = NAMES.map((each) => [each, style.getPropertyValue(`--${each}`).trim()]);
    colors = Object.fromEntries(entries) as Record<ColorName, string>;
    cache.set(name, colors);
  }
  return colors;
}

/** Hues a golden angle apart stay distinct however many kernels there are. */
export function kernelHue(kernel: number): number {
  return Math.round((250 + kernel * 137.508) % 360);
}

export function kernelColor(kernel: number): string {
  if (kernel < 0) return themeColors()["no-kernel"];
  const saturation = theme.value === "dark" ? 45 : 55;
  return `hsl(${kernelHue(kernel)} ${saturation}% 62%)`;
}

const HEAT = {
  light: ["#eff2f5", "#fde0a0", "#f08a3c", "#b02028"],
  dark: ["#1d2126", "#543e14", "#be6218", "#ffaa5a"],
} as const;

/** Hue, saturation and lightness of kernels that are not Triton's, by library. */
const KINDS: Readonly<Record<string, string>> = {
  cuBLAS: "215 32% 70%",
  cuDNN: "150 28% 64%",
  torch: "18 52% 72%",
  CUTLASS: "188 34% 60%",
  NCCL: "300 26% 70%",
  FlashAttention: "52 44% 62%",
  copy: "0 0% 62%",
  fill: "0 0% 74%",
};

export function kindColor(kind: string): string {
  const known = KINDS[kind];
  return known ? `hsl(${known})` : themeColors()["no-kernel"];
}

/** A color for a share between 0 and 1, from the canvas's ground to hot; null is "not known". */
export function heatColor(share: number | null): string {
  if (share === null) return themeColors().track;
  const stops = HEAT[theme.value].map(rgbOf);
  const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  const [from, to] = [stops[low], stops[low + 1]] as [Rgb, Rgb];
  const mixed = from.map((value, part) => value + ((to[part] ?? 0) - value) * (at - low));
  return `rgb(${mixed.map(Math.round).join(" ")})`;
}

export type Rgb = readonly [red: number, green: number, blue: number];

const PARSED = new Map<string, Rgb>();

/** "#rrggbb" or "rgb(r g b)". */
export function rgbOf(text: string): Rgb {
  let color = PARSED.get(text);
  if (!color) {
    const parts = text.startsWith("#")
      ? [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16))
      : (text.match(/[\d.]+/g) ?? []).map(Number);
    color = [parts[0] ?? 0, parts[1] ?? 0, parts[2] ?? 0];
    PARSED.set(text, color);
  }
  return color;
}

/** Black or white, whichever reads better on a color. */
export function inkOn(color: Rgb): string {
  const [red, green, blue] = color.map((part) => (part / 255) ** 2.2) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000000" : "#ffffff";
}
