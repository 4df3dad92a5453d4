// Elements of a recorded tensor as numbers, and the tensor as a file of NumPy's.
//
// bf16 and 8-bit floats are widened: bf16 by its bits, 8-bit floats as the OCP 8-bit Floating Point
// Specification 1.0 has e4m3fn and e5m2, and MLIR's documentation the FNUZ types.

import { itemBytes } from "../../data/format";
import type { RecordedTensor } from "./blocks";

export interface Values {
  /** The element at a byte offset from the data pointer; null outside of what was recorded. */
  at(bytes: number): number | null;
  readonly min: number | null;
  readonly max: number | null;
  /** Elements that are no number. */
  readonly nan: number;
}

type Read = (data: DataView, at: number) => number;

interface Small {
  readonly exponent: number;
  readonly mantissa: number;
  readonly bias: number;
  readonly specials: "ieee" | "fn" | "fnuz";
}

const SMALL: Readonly<Record<string, Small>> = {
  fp16: { exponent: 5, mantissa: 10, bias: 15, specials: "ieee" },
  fp8e4nv: { exponent: 4, mantissa: 3, bias: 7, specials: "fn" },
  fp8e5: { exponent: 5, mantissa: 2, bias: 15, specials: "ieee" },
  fp8e4b8: { exponent: 4, mantissa: 3, bias: 8, specials: "fnuz" },
  fp8e5b16: { exponent: 5, mantissa: 2, bias: 16, specials: "fnuz" },
};

const PLAIN: Readonly<Record<string, Read>> = {
  fp64: (data, at) => data.getFloat64(at, true),
  fp32: (data, at) => data.getFloat32(at, true),
  fp16: (data, at) => smallFloat(data.getUint16(at, true), SMALL["fp16"] as Small),
  i64: (data, at) => Number(data.getBigInt64(at, true)),
  i32: (data, at) => data.getInt32(at, true),
  i16: (data, at) => data.getInt16(at, true),
  i8: (data, at) => data.getInt8(at),
  u64: (data, at) => Number(data.getBigUint64(at, true)),
  u32: (data, at) => data.getUint32(at, true),
  u16: (data, at) => data.getUint16(at, true),
  u8: (data, at) => data.getUint8(at),
  i1: (data, at) => (data.getUint8(at) ? 1 : 0),
  bf16: (data, at) => bitsAsFloat(data.getUint16(at, true) << 16),
};

/** NumPy's names; of those that are not here, elements are widened to float32. */
const NUMPY: Readonly<Record<string, string>> = {
  fp64: "<f8",
  fp32: "<f4",
  fp16: "<f2",
  i64: "<i8",
  i32: "<i4",
  i16: "<i2",
  i8: "|i1",
  u64: "<u8",
  u32: "<u4",
  u16: "<u2",
  u8: "|u1",
  i1: "|b1",
};

const SCRATCH = new DataView(new ArrayBuffer(4));

function bitsAsFloat(bits: number): number {
  SCRATCH.setInt32(0, bits);
  return SCRATCH.getFloat32(0);
}

function smallFloat(bits: number, form: Small): number {
  const { exponent: width, mantissa: digits, bias, specials } = form;
  const sign = bits >> (width + digits) ? -1 : 1;
  const exponent = (bits >> digits) & (2 ** width - 1);
  const mantissa = bits & (2 ** digits - 1);
  const most = 2 ** width - 1;
  if (specials === "ieee" && exponent === most) return mantissa ? NaN : sign * Infinity;
  if (specials === "fn" && exponent === most && mantissa === 2 ** digits - 1) return NaN;
  if (specials === "fnuz" && sign < 0 && !exponent && !mantissa) return NaN;
  const whole = exponent ? mantissa + 2 ** digits : mantissa;
  return sign * whole * 2 ** (Math.max(exponent, 1) - bias - digits);
}

function reader(dtype: string | null): Read | null {
  const plain = PLAIN[dtype ?? ""];
  if (plain) return plain;
  const small = SMALL[dtype ?? ""];
  return small ? (data, at) => smallFloat(data.getUint8(at), small) : null;
}

/** The elements of a recorded tensor; null where its type has no numbers that we know. */
export function valuesOf(tensor: RecordedTensor, storage: ArrayBuffer): Values | null {
  const read = reader(tensor.dtype);
  if (!read) return null;
  const data = new DataView(storage);
  const item = itemBytes(tensor.dtype);
  return {
    at(bytes) {
      const at = tensor.offset_bytes + bytes;
      return at < 0 || at + item > data.byteLength ? null : read(data, at);
    },
    min: tensor.histogram?.min ?? null,
    max: tensor.histogram?.max ?? null,
    nan: tensor.histogram?.nan ?? 0,
  };
}

/** Whether a file of the tensor has its own type, or float32 for one that NumPy lacks. */
export function isWidened(dtype: string | null): boolean {
  return NUMPY[dtype ?? ""] === undefined;
}

/** The tensor as a .npy file (version 1.0), in row-major order; null where it cannot be made. */
export function npyOf(
  tensor: RecordedTensor,
  storage: ArrayBuffer,
): Uint8Array<ArrayBuffer> | null {
  const { shape, strides, dtype, offset_bytes: offset } = tensor;
  const read = reader(dtype);
  const item = itemBytes(dtype);
  const elements = shape.reduce((product, size) => product * size, 1);
  const reach = shape.reduce((sum, size, axis) => sum + (size - 1) * (strides[axis] ?? 0), 1);
  if (!read || offset < 0 || (elements && offset + reach * item > storage.byteLength)) return null;
  const widened = isWidened(dtype);
  const wide = widened ? 4 : item;
  const file = npyFile(NUMPY[dtype ?? ""] ?? "<f4", shape, elements * wide);
  const [source, bytes] = [new DataView(storage), new Uint8Array(storage)];
  const target = new DataView(file.data.buffer, file.data.byteOffset);
  const index = shape.map(() => 0);
  let at = offset;
  for (let place = 0; place < elements; place += 1) {
    if (widened) target.setFloat32(place * 4, read(source, at), true);
    else file.data.set(bytes.subarray(at, at + item), place * item);
    at += item * stepOn(index, shape, strides);
  }
  return file.whole;
}

/** Go to the next index in row-major order; how many elements of the storage that is on. */
function stepOn(index: number[], shape: readonly number[], strides: readonly number[]): number {
  let moved = 0;
  for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
    const next = (index[axis] ?? 0) + 1;
    if (next < (shape[axis] ?? 0)) {
      index[axis] = next;
      return moved + (strides[axis] ?? 0);
    }
    moved -= (next - 1) * (strides[axis] ?? 0);
    index[axis] = 0;
  }
  return moved;
}

/** A .npy file with room for its data, as NumPy's documentation of the format has it. */
export function npyFile(
  type: string,
  shape: readonly number[],
  size: number,
): { whole: Uint8Array<ArrayBuffer>; data: Uint8Array<ArrayBuffer> } {
  const tuple = shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(", ")})`;
  const plain = `{'descr': '${type}', 'fortran_order': False, 'shape': ${tuple}, }`;
  const length = Math.ceil((10 + plain.length + 1) / 64) * 64;
  const header = `${plain.padEnd(length - 11)}\n`;
  const whole = new Uint8Array(length + size);
  whole.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, (length - 10) & 255, (length - 10) >> 8]);
  whole.set(new TextEncoder().encode(header), 10);
  return { whole, data: whole.subarray(length) };
}

export function download(name: string, content: Uint8Array<ArrayBuffer>): void {
  const url = URL.createObjectURL(new Blob([content], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name.replace(/[^\w.-]+/g, "_").slice(0, 120);
  link.click();
  // the browser has taken the blob by then
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
