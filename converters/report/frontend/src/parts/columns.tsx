// Columns as most tables have them: figures, words, code. What is shown is what is sorted and copied.

import { type Format, formatShare, formatted, type Maybe, shortText } from "../data/format";
import type { Key } from "./sort";
import type { Column } from "./table";
import { type Source } from "./text";

/** Figures, the largest first; `source` is null where another column says it. */
export function figure<Row>(
  label: string,
  source: Source | null,
  read: (row: Row) => Maybe<number>,
  as: Format = "count",
  title?: string,
): Column<Row> {
  return {
    label,
    number: true,
    cell: (row) => formatted(read(row), as),
    key: read,
    ...(source && { source }),
    ...(title && { title }),
  };
}

type FigureField<Of> = {
  [Name in keyof Of]: Of[Name] extends Maybe<number> ? Name : never;
}[keyof Of] &
  string;

/** Figures that are fields of a row's object. */
export function fieldsOf<Row, Of>(of: (row: Row) => Of | undefined) {
  return (
    label: string,
    source: Source | null,
    field: FigureField<Of>,
    as?: Format,
    title?: string,
  ) => figure<Row>(label, source, (row) => of(row)?.[field] as Maybe<number>, as, title);
}

/** Figures with a bar, as shares of `whole` unless `as` says otherwise. */
export function sharedFigure<Row>(
  label: string,
  source: Source,
  read: (row: Row) => Maybe<number>,
  whole: number,
  as: Format = (value) => formatShare(value, whole),
  title?: string,
): Column<Row> {
  return {
    ...figure(label, source, read, as, title),
    bar: (row) => read(row) ?? 0,
  };
}

type More<Row> = Pick<Column<Row>, "title" | "source" | "prose"> & {
  /** Characters that are shown. */
  readonly limit?: number;
  /** What to sort by, where that is not the text. */
  readonly key?: (row: Row) => Key;
};

export function words<Row>(
  label: string,
  read: (row: Row) => Maybe<string>,
  { limit, ...more }: More<Row> = {},
): Column<Row> {
  return {
    label,
    cell: (row) => shortText(read(row), limit),
    key: read,
    text: (row) => read(row) ?? "",
    ...more,
  };
}

export function code<Row>(
  label: string,
  read: (row: Row) => Maybe<string>,
  more: More<Row> = {},
): Column<Row> {
  return {
    ...words(label, read, more),
    cell: (row) => <code>{shortText(read(row), more.limit)}</code>,
  };
}
