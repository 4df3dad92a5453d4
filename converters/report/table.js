"use strict";
// One table for all lists: real <table>, sortable, filtered from outside, shown a page at a time.

const PAGE_ROWS = 100;

/**
 * @param columns [{label, note, title, number, cell(row) → node or text, key(row) → for sorting}]
 * @param rows    array or typed array; what `cell` and `key` get
 * @param options {caption, empty, sort: [column index, "ascending"|"descending"], pageRows,
 *                 tall: scroll inside a box of its own, rowProperties(row)}
 * Returns {node, show(rows), redraw(), reveal(row)}.
 */
function dataTable(columns, rows, options = {}) {
  const state = { rows, sorted: rows, page: 0, column: null, direction: "ascending" };
  const pageRows = options.pageRows ?? PAGE_ROWS;
  const body = el("tbody");
  const headers = columns.map((column, index) => headerCell(column, () => sortBy(index)));
  const pager = el("div", { class: "pager" });
  const table = el(
    "table",
    {},
    el("caption", { class: options.captionVisible ? null : "hidden" }, options.caption ?? ""),
    el("thead", {}, el("tr", {}, headers)),
    body,
  );
  const scroller = el("div", { class: options.tall ? "table-scroll tall" : "table-scroll", tabindex: "0", role: "region", "aria-label": options.caption }, table);
  const node = el("div", { class: "data-table" }, scroller, pager);

  function sortBy(index, direction) {
    const flip = state.column === index && state.direction === "descending";
    const first = columns[index].number ? "descending" : "ascending";
    state.direction = direction ?? (state.column === index ? (flip ? "ascending" : "descending") : first);
    state.column = index;
    arrange();
  }

  function arrange() {
    const column = columns[state.column];
    state.sorted = column ? sortedRows(state.rows, column.key, state.direction) : state.rows;
    state.page = 0;
    headers.forEach((header, index) => {
      if (index === state.column) header.setAttribute("aria-sort", state.direction);
      else header.removeAttribute("aria-sort");
    });
    draw();
  }

  function draw() {
    const first = state.page * pageRows;
    const shown = state.sorted.slice(first, first + pageRows);
    body.replaceChildren();
    for (const row of shown) {
      const cells = columns.map((column) =>
        el("td", { class: column.number ? "number" : column.class }, column.cell(row)),
      );
      body.append(el("tr", options.rowProperties?.(row) ?? {}, cells));
    }
    if (!shown.length) {
      body.append(el("tr", {}, el("td", { colspan: columns.length, class: "muted" }, options.empty ?? "Nothing here.")));
    }
    drawPager(first, shown.length);
  }

  function drawPager(first, shown) {
    const pages = Math.ceil(state.sorted.length / pageRows);
    pager.replaceChildren();
    if (pages < 2) return;
    const turn = (page, label, text) =>
      el("button", {
        type: "button", "aria-label": label, disabled: page < 0 || page >= pages || page === state.page,
        on: { click: () => { state.page = page; draw(); scroller.scrollTop = 0; } },
      }, text);
    pager.append(
      turn(0, "First page", "«"),
      turn(state.page - 1, "Previous page", "‹"),
      el("span", { "aria-live": "polite" },
        `${formatCount(first + 1)}–${formatCount(first + shown)} of ${formatCount(state.sorted.length)}`),
      turn(state.page + 1, "Next page", "›"),
      turn(pages - 1, "Last page", "»"),
    );
  }

  function show(newRows) {
    state.rows = newRows;
    arrange();
  }

  /** Turn to the page that has this row. */
  function reveal(row) {
    const at = state.sorted.indexOf(row);
    if (at < 0) return;
    state.page = Math.floor(at / pageRows);
    draw();
    body.children[at % pageRows]?.scrollIntoView({ block: "nearest" });
  }

  if (options.sort) sortBy(...options.sort);
  else draw();
  return { node, show, redraw: draw, reveal };
}

function headerCell(column, onSort) {
  const properties = { scope: "col", class: column.number ? "number" : null, title: column.title };
  const source = column.note ? el("span", { class: "column-note" }, column.note) : null;
  if (!column.key) return el("th", properties, column.label, source);
  const button = el("button", { type: "button", on: { click: onSort } }, column.label);
  return el("th", properties, button, source);
}

/** Sorted copy; unknown values go last, whatever the direction. */
function sortedRows(rows, key, direction) {
  const sign = direction === "descending" ? -1 : 1;
  const keys = Array.from(rows, key);
  const order = Uint32Array.from(keys, (_, index) => index);
  order.sort((a, b) => compareKeys(keys[a], keys[b], sign) || a - b);
  const sorted = rows.slice();
  order.forEach((from, to) => { sorted[to] = rows[from]; });
  return sorted;
}

function compareKeys(a, b, sign) {
  const [noA, noB] = [a === null || a === undefined, b === null || b === undefined];
  if (noA || noB) return noA - noB;
  if (a === b) return 0;
  return sign * (a < b ? -1 : 1);
}
