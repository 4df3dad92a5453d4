// What of the drawing is open at a zoom, where ops then are, and what is under a point.

import type { Box, Placed } from "./layout";

/** Screen = (drawing − x, y) × scale, in CSS pixels. */
export interface Camera {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

/** How far groups are opened: by the zoom, or down to a depth. */
export type Detail = "zoom" | number;

/** A box where it is on the screen. */
export interface Shown {
  readonly box: Box;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A group has to be as large on the screen to show what is in it. */
const OPEN_WIDTH = 150;
const OPEN_HEIGHT = 90;
/** Opened by hand, groups stay open down to this. */
const LEAST = 12;

export function isOpen(box: Box, camera: Camera, detail: Detail): boolean {
  if (!box.children.length) return false;
  if (box.depth === 0) return true;
  const [width, height] = [box.width * camera.scale, box.height * camera.scale];
  if (detail === "zoom") return width >= OPEN_WIDTH && height >= OPEN_HEIGHT;
  return box.depth < detail && Math.min(width, height) >= LEAST;
}

export function rootShown(root: Box, camera: Camera): Shown {
  return {
    box: root,
    x: -camera.x * camera.scale,
    y: -camera.y * camera.scale,
    width: root.width * camera.scale,
    height: root.height * camera.scale,
  };
}

export function childShown(parent: Shown, { box, x, y }: Placed, scale: number): Shown {
  return {
    box,
    x: parent.x + x * scale,
    y: parent.y + y * scale,
    width: box.width * scale,
    height: box.height * scale,
  };
}

/** The camera that shows all of a drawing, or of a part of it. */
export function cameraOn(
  part: { readonly x: number; readonly y: number; readonly width: number; readonly height: number },
  width: number,
  height: number,
): Camera {
  const scale = Math.min((width - 16) / part.width, (height - 16) / part.height, 2);
  return {
    scale,
    x: part.x - (width / scale - part.width) / 2,
    y: part.y - (height / scale - part.height) / 2,
  };
}

export function wholeCamera(root: Box, width: number, height: number): Camera {
  return cameraOn({ x: 0, y: 0, width: root.width, height: root.height }, width, height);
}

/** The innermost box under a place of the drawing that is not open, or the group around it. */
export function boxAt(
  root: Box,
  camera: Camera,
  detail: Detail,
  x: number,
  y: number,
): Shown | null {
  const [atX, atY] = [(x - camera.x) * camera.scale, (y - camera.y) * camera.scale];
  let found: Shown | null = null;
  let next: Shown | null = rootShown(root, camera);
  while (next && contains(next, atX, atY)) {
    found = next;
    const parent: Shown = next;
    if (!isOpen(parent.box, camera, detail)) break;
    const inner: Placed | undefined = parent.box.children.find((child) =>
      contains(childShown(parent, child, camera.scale), atX, atY),
    );
    next = inner ? childShown(parent, inner, camera.scale) : null;
  }
  return found;
}

function contains({ x, y, width, height }: Shown, atX: number, atY: number): boolean {
  return atX >= x && atY >= y && atX < x + width && atY < y + height;
}

/** The box that stands for an op: its own, or that of the closed group around it. */
export function boxOfOp(root: Box, camera: Camera, detail: Detail, op: number): Shown {
  let shown = rootShown(root, camera);
  while (isOpen(shown.box, camera, detail)) {
    const inner = childOf(shown.box, op);
    if (!inner) break;
    shown = childShown(shown, inner, camera.scale);
  }
  return shown;
}

function childOf(box: Box, op: number): Placed | undefined {
  let [low, high] = [0, box.children.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((box.children[middle] as Placed).box.node.end <= op) low = middle + 1;
    else high = middle;
  }
  return box.children[low];
}

/** Where an op is in the drawing, whether its groups are open or not. */
export function placeOfOp(root: Box, op: number): Placed {
  let [place, x, y]: [Placed, number, number] = [{ box: root, x: 0, y: 0 }, 0, 0];
  for (;;) {
    const inner = childOf(place.box, op);
    if (!inner) return { box: place.box, x, y };
    [x, y, place] = [x + inner.x, y + inner.y, inner];
  }
}
