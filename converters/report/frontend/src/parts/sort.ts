// Sorting of long lists: of numbers without an object a row.

export type Direction = "ascending" | "descending";
export type Key = number | string | null | undefined;

/** A sorted copy; unknown keys go last, whatever the direction, and equal ones keep their order. */
export function sortedRows<Row>(
  rows: ArrayLike<Row>,
  key: (row: Row) => Key,
  direction: Direction,
): ArrayLike<Row> {
  const keys = Array.from(rows, key);
  const sign = direction === "descending" ? -1 : 1;
  const order = keys.every((each) => typeof each === "number")
    ? numberOrder(Float64Array.from(keys), sign)
    : anyOrder(keys, sign);
  return picked(rows, order);
}

function numberOrder(keys: Float64Array, sign: number): Uint32Array {
  const order = Uint32Array.from(keys, (_, index) => index);
  return order.sort((a, b) => sign * ((keys[a] as number) - (keys[b] as number)) || a - b);
}

function anyOrder(keys: readonly Key[], sign: number): Uint32Array {
  const order = Uint32Array.from(keys, (_, index) => index);
  return order.sort((a, b) => compared(keys[a], keys[b], sign) || a - b);
}

function compared(a: Key, b: Key, sign: number): number {
  const [noA, noB] = [a === null || a === undefined, b === null || b === undefined];
  if (noA || noB) return Number(noA) - Number(noB);
  if (a === b) return 0;
  return (a as number) < (b as number) ? -sign : sign;
}

function picked<Row>(rows: ArrayLike<Row>, order: Uint32Array): ArrayLike<Row> {
  if (rows instanceof Uint32Array) {
    return order.map((from) => rows[from] as number) as unknown as ArrayLike<Row>;
  }
  return Array.from(order, (from) => rows[from] as Row);
}
