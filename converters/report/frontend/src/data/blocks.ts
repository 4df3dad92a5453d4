// The page's data: elements with gzip in base64, JSON or packed columns (converters/report/pack.py
// says how). A block is decoded when it is first asked for, and once.

import type { Column } from "./types";

interface ColumnHeader {
  readonly type: "u1" | "u2" | "u4" | "wide";
  readonly count: number;
  readonly at: number;
  readonly base: number;
  readonly delta?: number;
}

const decoded = new Map<string, Promise<unknown>>();

/** Whether the page carries a block of that name. */
export function hasBlock(name: string): boolean {
  return document.getElementById(name) !== null;
}

/** The names of all blocks that begin so, in the page's order. */
export function blockNames(prefix = ""): string[] {
  const elements = document.querySelectorAll('script[type="application/gzip+base64"]');
  return Array.from(elements, (element) => element.id).filter((name) => name.startsWith(prefix));
}

/** A block of JSON. Rejects where there is no such block: ask `hasBlock` first. */
export function jsonBlock<T>(name: string): Promise<T> {
  return once(name, (bytes) => JSON.parse(new TextDecoder().decode(bytes)) as T);
}

/** A block of columns of whole numbers, each as a typed array. */
export function columnsBlock<T>(name: string): Promise<T> {
  return once(name, (bytes) => decodeColumns(bytes) as T);
}

/** A block of plain bytes, as a captured tensor's. */
export function bytesBlock(name: string): Promise<ArrayBuffer> {
  return once(name, (bytes) => bytes);
}

function once<T>(name: string, decode: (bytes: ArrayBuffer) => T): Promise<T> {
  let block = decoded.get(name) as Promise<T> | undefined;
  if (!block) {
    block = inflated(name).then(decode);
    decoded.set(name, block);
  }
  return block;
}

async function inflated(name: string): Promise<ArrayBuffer> {
  const element = document.getElementById(name);
  if (!element) throw new Error(`this page carries no block ${name}`);
  const text = atob(element.textContent ?? "");
  const compressed = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index += 1) compressed[index] = text.charCodeAt(index);
  const stream = new Blob([compressed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

function decodeColumns(bytes: ArrayBuffer): Record<string, Column> {
  const length = new DataView(bytes).getUint32(0, true);
  const text = new TextDecoder().decode(new Uint8Array(bytes, 4, length));
  const header = JSON.parse(text) as Record<string, ColumnHeader>;
  const columns: Record<string, Column> = {};
  for (const [name, entry] of Object.entries(header)) {
    columns[name] = decodeColumn(bytes, 4 + length + entry.at, entry);
  }
  return columns;
}

/** Whole numbers up to 2^53; a column of small ones stays small. */
function decodeColumn(bytes: ArrayBuffer, at: number, entry: ColumnHeader): Column {
  const plain = plainColumn(bytes, at, entry);
  if (entry.base === 0 && entry.delta === undefined) return plain;
  const values = new Float64Array(entry.count);
  const differences = entry.delta !== undefined;
  let last = entry.delta ?? 0;
  for (let index = 0; index < entry.count; index += 1) {
    const value = (plain[index] as number) + entry.base;
    last = differences ? last + value : value;
    values[index] = last;
  }
  return values;
}

function plainColumn(bytes: ArrayBuffer, at: number, entry: ColumnHeader): Column {
  if (entry.type === "u1") return new Uint8Array(bytes, at, entry.count);
  if (entry.type === "u2") return new Uint16Array(bytes, at, entry.count);
  const low = new Uint32Array(bytes, at, entry.count);
  if (entry.type === "u4") return low;
  const high = new Uint32Array(bytes, at + 8 * Math.ceil(entry.count / 2), entry.count);
  return Float64Array.from(low, (value, index) => value + (high[index] as number) * 2 ** 32);
}
