// Elements of a recorded tensor as numbers, and the tensor as a file of NumPy's.
//
// bf16 and 8-bit floats are widened: bf16 by its bits, 8-bit floats as the OCP 8-bit Floating Point
// Specification 1.0 has e4m3fn and e5m2, and MLIR's documentation the FNUZ types.

import { itemBytes } from "../data/tensors";
import type { RecordedValue } from "../data/types";

export interface Values {
  /** The element at a byte offset from the data pointer; null outside of what was recorded. */
  at(bytes: number): number | null;
  readonly min: number | null;
  readonly max: number | null;
  /** Elements that are NaN. */
  readonly nan: number;
}

type Read = (data: DataView, at: number) => number;

/** How elements are read, and what NumPy calls the type; null: widened to float32. */
const TYPES: Readonly<Record<string, readonly [read: Read, numpy: string | null]>> = {
  fp64: [(data, at) => data.getFloat64(at, true), "<f8"],
  fp32: [(data, at) => data.getFloat32(at, true), "<f4"],
  fp16: [(data, at) => smallFloat(data.getUint16(at, true), 5, 10, 15, "ieee"), "<f2"],
  bf16: [(data, at) => bitsAsFloat(data.getUint16(at, true) << 16), null],
  fp8e4nv: [(data, at) => smallFloat(data.getUint8(at), 4, 3, 7, "fn"), null],
  fp8e5: [(data, at) => smallFloat(data.getUint8(at), 5, 2, 15, "ieee"), null],
  fp8e4b8: [(data, at) => smallFloat(data.getUint8(at), 4, 3, 8, "fnuz"), null],
  fp8e5b16: [(data, at) => smallFloat(data.getUint8(at), 5, 2, 16, "fnuz"), null],
  i64: [(data, at) => Number(data.getBigInt64(at, true)), "<i8"],
  i32: [(data, at) => data.getInt32(at, true), "<i4"],
  i16: [(data, at) => data.getInt16(at, true), "<i2"],
  i8: [(data, at) => data.getInt8(at), "|i1"],
  u64: [(data, at) => Number(data.getBigUint64(at, true)), "<u8"],
  u32: [(data, at) => data.getUint32(at, true), "<u4"],
  u16: [(data, at) => data.getUint16(at, true), "<u2"],
  u8: [(data, at) => data.getUint8(at), "|u1"],
  i1: [(data, at) => (data.getUint8(at) ? 1 : 0), "|b1"],
};

function bitsAsFloat(bits: number): number {
  return new Float32Array(Int32Array.of(bits).buffer)[0] as number;
}

/** `width` bits of exponent and `digits` of mantissa; `specials`: which patterns are NaN. */
function smallFloat(
  bits: number,
  width: number,
  digits: number,
  bias: number,
  specials: "ieee" | "fn" | "fnuz",
): number {
  const sign = bits >> (width + digits) ? -1 : 1;
  const exponent = (bits >> digits) & (2 ** width - 1);
  const mantissa = bits & (2 ** digits - 1);
  const most = exponent === 2 ** width - 1;
  if (specials === "ieee" && most) return mantissa ? NaN : sign * Infinity;
  if (specials === "fn" && most && mantissa === 2 ** digits - 1) return NaN;
  if (specials === "fnuz" && sign < 0 && !exponent && !mantissa) return NaN;
  const whole = exponent ? mantissa + 2 ** digits : mantissa;
  return sign * whole * 2 ** (Math.max(exponent, 1) - bias - digits);
}

/** The elements of a recorded tensor; null where its type has no numbers that we know. */
export function valuesOf(tensor: RecordedValue, storage: ArrayBuffer): Values | null {
  const [read] = TYPES[tensor.dtype ?? ""] ?? [];
  if (!read) return null;
  const data = new DataView(storage);
  const item = itemBytes(tensor.dtype);
  const { min = null, max = null, nan = 0 } = tensor.histogram ?? {};
  return {
    at(bytes) {
      const at = tensor.offset_bytes + bytes;
      return at < 0 || at + item > data.byteLength ? null : read(data, at);
    },
    min,
    max,
    nan,
  };
}

/** Whether a file of the tensor has float32, for a type that NumPy lacks. */
export function isWidened(dtype: string | null): boolean {
  return !TYPES[dtype ?? ""]?.[1];
}

/** The tensor as a .npy file, in row-major order; null where it cannot be made. */
export function npyOf(tensor: RecordedValue, storage: ArrayBuffer): Uint8Array<ArrayBuffer> | null {
  const { shape, strides, dtype, offset_bytes: offset } = tensor;
  const [read, numpy] = TYPES[dtype ?? ""] ?? [];
  const item = itemBytes(dtype);
  const elements = shape.reduce((product, size) => product * size, 1);
  const reach = shape.reduce((sum, size, axis) => sum + (size - 1) * (strides[axis] ?? 0), 1);
  if (!read || offset < 0 || (elements && offset + reach * item > storage.byteLength)) return null;
  const file = npyFile(numpy ?? "<f4", shape, elements * (numpy ? item : 4));
  const [source, bytes] = [new DataView(storage), new Uint8Array(storage)];
  const target = new DataView(file.data.buffer, file.data.byteOffset);
  let place = 0;
  const write = (axis: number, at: number): void => {
    const size = shape[axis];
    if (size !== undefined) {
      for (let i = 0; i < size; i += 1) write(axis + 1, at + i * item * (strides[axis] ?? 0));
      return;
    }
    if (numpy) file.data.set(bytes.subarray(at, at + item), place * item);
    else target.setFloat32(place * 4, read(source, at), true);
    place += 1;
  };
  write(0, offset);
  return file.whole;
}

/** A .npy file (version 1.0) with room for its data, as NumPy's documentation of the format says. */
export function npyFile(
  type: string,
  shape: readonly number[],
  size: number,
): { whole: Uint8Array<ArrayBuffer>; data: Uint8Array<ArrayBuffer> } {
  const tuple = `(${shape.join(", ")}${shape.length === 1 ? "," : ""})`;
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
