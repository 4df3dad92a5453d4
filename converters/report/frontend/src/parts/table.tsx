// One table for all lists. A long one is virtual: only the rows in view are in the document, each
// of one height, so that a million rows scroll like ten.

import type { ComponentChildren } from "preact";
import { useComputed } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { chosen, setQuery } from "../app/router";
import { formatCount } from "../data/format";
import { type Direction, type Key, sortedRows } from "./sort";
import { Mark, ShareBar, type Source, sourceText } from "./text";

export interface Column<Row> {
  readonly label: string;
  /** What the column holds, as a tooltip. */
  readonly title?: string;
  /** Where its figures are from; derived ones have a mark. */
  readonly source?: Source;
  /** Figures: aligned to the end, and sorted from the largest first. */
  readonly number?: boolean;
  /** Running text: may take several lines in a short table. */
  readonly prose?: boolean;
  cell(row: Row): ComponentChildren;
  /** Length of a bar before the cell; the largest of all rows takes all of its room. */
  bar?(row: Row): number;
  /** What to sort by, and what is copied; without it the column cannot be sorted. */
  key?(row: Row): Key;
  /** What is copied, where that is not the key. */
  text?(row: Row): string;
}

interface TableProps<Row> {
  /** What it lists, for those who do not see it. */
  readonly caption: string;
  readonly columns: readonly (Column<Row> | null | false)[];
  /** An array, or a typed array of indices. Give the same object again where nothing changed. */
  readonly rows: ArrayLike<Row>;
  /** Label of the column that it is sorted by at first. */
  readonly sort?: string;
  readonly direction?: Direction;
  readonly empty?: string;
  readonly id?: string;
  /**
   * Labels of columns that are left out, in this order, where there is no room for all. Without it
   * a table with running text keeps its first column and the text: the others leave from the end.
   */
  readonly leaving?: readonly string[];
  /** The row that is marked and brought into view. */
  readonly chosen?: Row | null;
  /** Makes rows choosable: by click, or by arrow keys and Enter. */
  onChoose?(row: Row): void;
  /** Rows that are shown at once; with more, the table scrolls in its own box. */
  readonly height?: number;
}

interface Order {
  readonly label: string;
  readonly direction: Direction;
}

/** Tables with more rows are virtual; shorter ones may have rows of several lines. */
const SHORT = 250;
const ROW = 28;
/** Rows before and after those in view. */
const SPARE = 12;
/** Browsers cannot lay out elements much taller than this. */
const TALLEST = 24_000_000;
const MOST_COPIED = 100_000;

export function Table<Row>(props: TableProps<Row>) {
  const allColumns = props.columns.filter((column): column is Column<Row> => Boolean(column));
  const leaving = (props.leaving ?? lessNeeded(allColumns)).filter((name) =>
    allColumns.some(({ label }) => label === name),
  );
  const first = allColumns.find((column) => column.label === props.sort);
  const name = `by-${(props.id ?? props.caption).toLowerCase().replace(/[^a-z\d]+/g, "-")}`;
  const asked = useComputed(() => chosen(name)).value;
  const initial = first ? ordered(first.label, props.direction ?? firstDirection(first)) : null;
  const text = asked ?? initial;
  const order = useMemo(() => (text === null ? null : orderOf(text)), [text]);
  const [active, setActive] = useState(-1);
  const [scroll, setScroll] = useState(0);
  const [gone, setGone] = useState(0);
  const [, setWidth] = useState(window.innerWidth);
  const scroller = useRef<HTMLDivElement>(null);
  const focusWanted = useRef(false);

  const columns = allColumns.filter(({ label }) => !leaving.slice(0, gone).includes(label));
  const by = order ? allColumns.find((column) => column.label === order.label) : undefined;
  const rows = useMemo(
    () => (by?.key && order ? sortedRows(props.rows, by.key, order.direction) : props.rows),
    [props.rows, order],
  );
  const longest = useMemo(
    () => new Map(allColumns.map((column) => [column.label, longestBar(column, props.rows)])),
    [props.rows],
  );
  const virtual = rows.length > SHORT;
  const shownRows = props.height ?? 18;
  const scale = Math.max(1, (rows.length * ROW) / TALLEST);
  const last = Math.max(0, rows.length - shownRows - SPARE);
  const start = virtual
    ? Math.max(0, Math.min(Math.floor((scroll * scale) / ROW) - SPARE, last))
    : 0;
  const end = virtual ? Math.min(rows.length, start + shownRows + 2 * SPARE) : rows.length;
  const chosenAt = useMemo(
    () => (props.chosen == null ? -1 : Array.prototype.indexOf.call(rows, props.chosen)),
    [rows, props.chosen],
  );

  useLayoutEffect(() => {
    setActive(-1);
    scrollTo(0);
  }, [props.rows]);
  useLayoutEffect(() => {
    if (chosenAt >= 0) reveal(chosenAt);
  }, [rows, chosenAt]);
  useLayoutEffect(() => {
    const box = scroller.current;
    if (box) keepWidths(box);
    if (box) keepTabStops(box, active >= 0 ? active : chosenAt);
    if (box && box.scrollWidth > box.clientWidth && gone < leaving.length) setGone(gone + 1);
    if (!focusWanted.current) return;
    focusWanted.current = false;
    scroller.current?.querySelector<HTMLElement>(`tr[data-place="${active}"]`)?.focus();
  });

  useEffect(() => {
    const onResize = (): void => {
      setGone(0); // what there is room for is found again
      setWidth(window.innerWidth);
    };
    window.addEventListener("resize", onResize);
    return () => window.removeEventListener("resize", onResize);
  }, []);

  function scrollTo(top: number): void {
    if (scroller.current) scroller.current.scrollTop = top;
    setScroll(scroller.current?.scrollTop ?? 0);
  }

  function reveal(place: number): void {
    const box = scroller.current;
    if (!box || !virtual) return; // the browser scrolls to a row that gets the focus
    const [top, room] = [(place * ROW) / scale, box.clientHeight - 2 * ROW];
    if (top >= box.scrollTop && top <= box.scrollTop + room) return;
    scrollTo(Math.max(0, top - room / 3));
  }

  function sortBy(column: Column<Row>): void {
    const direction =
      order?.label !== column.label
        ? firstDirection(column)
        : order.direction === "descending"
          ? "ascending"
          : "descending";
    const wanted = ordered(column.label, direction);
    setQuery({ [name]: wanted === initial ? null : wanted });
    setActive(-1);
    scrollTo(0);
  }

  function onKeyDown(event: KeyboardEvent): void {
    const from = active >= 0 ? active : Math.max(chosenAt, -1);
    const places: Record<string, number> = {
      ArrowDown: from + 1,
      ArrowUp: from - 1,
      PageDown: from + shownRows,
      PageUp: from - shownRows,
      Home: 0,
      End: rows.length - 1,
    };
    const target = event.target as HTMLElement;
    if (target.closest("th")) moveAmongHeadings(event, target);
    if (target.closest("th, a, button, input")) return;
    if (event.key === "Enter" && active >= 0) {
      choose(active);
      return;
    }
    const place = places[event.key];
    if (place === undefined || event.ctrlKey || event.metaKey || event.altKey || !rows.length)
      return;
    event.preventDefault();
    const next = Math.min(Math.max(place, 0), rows.length - 1);
    focusWanted.current = true;
    setActive(next);
    reveal(next);
  }

  function choose(place: number): void {
    const row = rows[place];
    if (row !== undefined) props.onChoose?.(row);
  }

  function onClick(event: MouseEvent): void {
    const target = event.target as HTMLElement;
    const row = target.closest<HTMLElement>("tr[data-place]");
    if (!row || target.closest("a, button, input, summary")) return;
    const place = Number(row.dataset["place"]);
    setActive(place);
    choose(place);
  }

  /** Ctrl+C without a selection copies the whole table, as tab-separated values. */
  function onCopy(event: ClipboardEvent): void {
    if (!document.getSelection()?.isCollapsed) return;
    event.clipboardData?.setData("text/plain", tabSeparated(allColumns, rows));
    event.preventDefault();
  }

  const boxed = virtual || (props.height !== undefined && rows.length > props.height);
  const room = boxed ? `${(shownRows + 2) * ROW}px` : undefined;
  const before = start / scale;
  const after = (rows.length - end) / scale;
  return (
    <div class={classes("data-table", virtual && "virtual", boxed && "boxed")} id={props.id}>
      <div
        class="table-scroll"
        ref={scroller}
        role="region"
        aria-label={props.caption}
        tabIndex={0}
        style={{ maxBlockSize: room }}
        onScroll={virtual ? (event) => setScroll(event.currentTarget.scrollTop) : undefined}
        onKeyDown={onKeyDown}
        onClick={onClick}
        onCopy={onCopy}
      >
        <table aria-rowcount={rows.length + 1}>
          <caption class="hidden">{props.caption}</caption>
          <thead>
            <tr aria-rowindex={1}>
              {columns.map((column) => (
                <Header key={column.label} column={column} order={order} onSort={sortBy} />
              ))}
            </tr>
          </thead>
          <tbody>
            {start > 0 ? <Spacer rows={before} columns={columns.length} /> : null}
            {range(start, end).map((place) => (
              <tr
                key={place}
                data-place={place}
                aria-rowindex={place + 2}
                tabIndex={place === (active >= 0 ? active : chosenAt) ? 0 : -1}
                class={classes(
                  place === chosenAt && "chosen",
                  Boolean(props.onChoose) && "choosable",
                )}
              >
                {columns.map((column) => (
                  <td
                    key={column.label}
                    class={cellClass(column)}
                    title={
                      virtual && !column.number ? plainCell(column, rows[place] as Row) : undefined
                    }
                  >
                    {column.bar ? (
                      <span class="with-share">
                        <ShareBar
                          share={column.bar(rows[place] as Row) / (longest.get(column.label) || 1)}
                        />
                        <span class="beside-bar">{column.cell(rows[place] as Row)}</span>
                      </span>
                    ) : (
                      column.cell(rows[place] as Row)
                    )}
                  </td>
                ))}
              </tr>
            ))}
            {end < rows.length ? <Spacer rows={after} columns={columns.length} /> : null}
            {rows.length ? null : (
              <tr>
                <td class="muted" colSpan={columns.length}>
                  {props.empty ?? "Nothing here."}
                </td>
              </tr>
            )}
          </tbody>
        </table>
      </div>
      {virtual ? <p class="muted small">{formatCount(rows.length)} rows</p> : null}
      {gone ? (
        <p class="muted small" data-left-out={gone}>
          Hidden at this width: {leaving.slice(0, gone).join(", ")}. Ctrl + C copies all columns.
        </p>
      ) : null}
    </div>
  );
}

function Header<Row>(props: {
  column: Column<Row>;
  order: Order | null;
  onSort(column: Column<Row>): void;
}) {
  const { column, order } = props;
  const sorted = order?.label === column.label ? order.direction : undefined;
  const source = column.source;
  const title = [column.title, source ? sourceText(source) : ""].filter(Boolean).join(". ");
  return (
    <th
      scope="col"
      class={cellClass(column)}
      title={title || undefined}
      aria-sort={sorted}
      data-source={source}
    >
      {column.key ? (
        <button type="button" onClick={() => props.onSort(column)}>
          {column.label}
          <Mark source={source} />
        </button>
      ) : (
        <>
          {column.label}
          <Mark source={source} />
        </>
      )}
    </th>
  );
}

/** One Tab stop for the headings; those of links and buttons of rows are in the active row alone. */
function keepTabStops(box: HTMLElement, row: number): void {
  const headings = [...box.querySelectorAll<HTMLElement>("th button")];
  const stop =
    headings.find((each) => each === document.activeElement) ??
    headings.find((each) => each.closest("th[aria-sort]")) ??
    headings[0];
  for (const each of headings) each.tabIndex = each === stop ? 0 : -1;
  for (const each of box.querySelectorAll<HTMLElement>("td a, td button"))
    each.tabIndex = each.closest(`tr[data-place="${row}"]`) ? 0 : -1;
}

/** The arrow keys go from heading to heading. */
function moveAmongHeadings(event: KeyboardEvent, from: HTMLElement): void {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const headings = [...(from.closest("tr")?.querySelectorAll<HTMLElement>("th button") ?? [])];
  const at = headings.findIndex((each) => each.contains(from));
  const to = step === undefined || at < 0 ? undefined : headings[at + step];
  if (!to) return;
  event.preventDefault();
  for (const each of headings) each.tabIndex = each === to ? 0 : -1;
  to.focus();
}

function Spacer(props: { rows: number; columns: number }) {
  return (
    <tr class="spacer" aria-hidden="true">
      <td colSpan={props.columns} style={{ blockSize: `${props.rows * ROW}px` }} />
    </tr>
  );
}

/** What a table is sorted by, as the address has it: "-time" from the largest on, or "time". */
function ordered(label: string, direction: Direction): string {
  return direction === "descending" ? `-${label}` : label;
}

function orderOf(text: string): Order {
  const down = text.startsWith("-");
  return { label: text.slice(Number(down)), direction: down ? "descending" : "ascending" };
}

function firstDirection<Row>(column: Column<Row>): Direction {
  return column.number ? "descending" : "ascending";
}

function classes(...names: (string | false)[]): string | undefined {
  return names.filter(Boolean).join(" ") || undefined;
}

function longestBar<Row>({ bar }: Column<Row>, rows: ArrayLike<Row>): number {
  let longest = 0;
  for (let place = 0; bar && place < rows.length; place += 1)
    longest = Math.max(longest, bar(rows[place] as Row));
  return longest;
}

function cellClass<Row>(column: Column<Row>): string | undefined {
  return column.number ? "number" : column.prose ? "prose" : undefined;
}

function range(start: number, end: number): number[] {
  return Array.from({ length: Math.max(end - start, 0) }, (_, index) => start + index);
}

/** All columns but the first and those of running text, from the end. */
function lessNeeded<Row>(columns: readonly Column<Row>[]): readonly string[] {
  if (!columns.some(({ prose }) => prose)) return [];
  return columns
    .slice(1)
    .filter(({ prose }) => !prose)
    .map(({ label }) => label)
    .reverse();
}

/** Columns of a virtual table do not jump as rows come and go: they only grow. */
function keepWidths(box: HTMLElement): void {
  if (!box.parentElement?.classList.contains("virtual")) return;
  for (const header of box.querySelectorAll<HTMLElement>("th")) {
    const kept = Number.parseFloat(header.style.minInlineSize) || 0;
    if (header.offsetWidth > kept) header.style.minInlineSize = `${header.offsetWidth}px`;
  }
}

function tabSeparated<Row>(columns: readonly Column<Row>[], rows: ArrayLike<Row>): string {
  const lines = [columns.map((column) => column.label).join("\t")];
  for (let place = 0; place < Math.min(rows.length, MOST_COPIED); place += 1) {
    lines.push(columns.map((column) => plainCell(column, rows[place] as Row)).join("\t"));
  }
  return lines.join("\n");
}

function plainCell<Row>(column: Column<Row>, row: Row): string {
  if (column.text) return oneLine(column.text(row));
  if (column.key) return oneLine(String(column.key(row) ?? ""));
  const content = column.cell(row);
  return typeof content === "string" || typeof content === "number" ? oneLine(String(content)) : "";
}

function oneLine(text: string): string {
  return text.replace(/[\t\r\n]+/g, " ");
}
