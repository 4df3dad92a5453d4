// Columns as most tables have them: figures, words, code. What is shown is what is sorted and copied.

import { type Maybe, formatCount, formatShare, shortText } from "../data/format";
import type { Key } from "./sort";
import type { Column } from "./table";
import { ShareBar, type Source } from "./text";

type Format = (value: Maybe<number>) => string;

/** Figures, the largest first; `source` is null where another column says it. */
export function figure<Row>(
  label: string,
  source: Source | null,
  read: (row: Row) => Maybe<number>,
  format: Format = formatCount,
  title?: string,
): Column<Row> {
  return {
    label,
    number: true,
    cell: (row) => format(read(row)),
    key: read,
    ...(source && { source }),
    ...(title && { title }),
  };
}

/** Figures with a bar that shows their share of `whole`. */
export function sharedFigure<Row>(
  label: string,
  source: Source,
  read: (row: Row) => Maybe<number>,
  whole: number,
  format: Format = (value) => formatShare(value, whole),
  title?: string,
): Column<Row> {
  return {
    ...figure(label, source, read, format, title),
    cell: (row) => (
      <span class="with-share">
        <ShareBar share={(read(row) ?? 0) / whole} />
        {format(read(row))}
      </span>
    ),
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
