"use strict";
// The page's data: blocks of gzip in base64, JSON or packed columns (pack.py says how).

async function blockBytes(id) {
  const text = atob(document.getElementById(id).textContent);
  const compressed = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index += 1) compressed[index] = text.charCodeAt(index);
  const stream = new Blob([compressed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

async function readJson(id) {
  return JSON.parse(new TextDecoder().decode(await blockBytes(id)));
}

async function readColumns(id) {
  const buffer = await blockBytes(id);
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const columns = {};
  for (const [name, entry] of Object.entries(header)) {
    columns[name] = decodeColumn(buffer, 4 + length + entry.at, entry);
  }
  return columns;
}

/** Whole numbers up to 2^53 as a typed array; the small ones stay small. */
function decodeColumn(buffer, at, entry) {
  const plain = plainColumn(buffer, at, entry);
  if (entry.base === 0 && entry.delta === undefined) return plain;
  const values = new Float64Array(entry.count);
  let last = entry.delta ?? 0;
  for (let index = 0; index < entry.count; index += 1) {
    const value = plain[index] + entry.base;
    last = entry.delta === undefined ? value : last + value;
    values[index] = last;
  }
  return values;
}

function plainColumn(buffer, at, entry) {
  if (entry.type === "u1") return new Uint8Array(buffer, at, entry.count);
  if (entry.type === "u2") return new Uint16Array(buffer, at, entry.count);
  const low = new Uint32Array(buffer, at, entry.count);
  if (entry.type === "u4") return low;
  const high = new Uint32Array(buffer, at + 8 * Math.ceil(entry.count / 2), entry.count);
  return Float64Array.from(low, (value, index) => value + high[index] * 2 ** 32);
}

const loadedTexts = new Map();

/** One stage's or source file's text: {text, links}. Decoded when first asked for. */
function readText(index) {
  if (!loadedTexts.has(index)) loadedTexts.set(index, readJson(`texts/${index}`));
  return loadedTexts.get(index);
}
