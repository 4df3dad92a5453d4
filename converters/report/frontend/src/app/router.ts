// Addresses: everything behind "#". A path names the view, a query what is chosen in it.

import { signal } from "@preact/signals";

export interface Address {
  /** "/kernel/3". */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Both together, as they follow "#". */
  readonly text: string;
}

type Value = string | number | boolean | null | undefined;
/** What follows "?"; values that are null or "" are left out. */
export type Query = Readonly<Record<string, Value>>;

/** Whether the page is a frame's `srcdoc`, as in a notebook, where "#…" means the page around it. */
const FRAMED = "about:srcdoc";
const framed = window.location.href.startsWith(FRAMED);

/** What a page without an address opens at: its root may name another view than the overview. */
const START = document.documentElement.dataset.start ?? "/";

export const address = signal<Address>(parsed(window.location.hash));

function parsed(hash: string): Address {
  const text = hash.slice(1) || START;
  const at = text.indexOf("?");
  if (at < 0) return { path: text, query: new URLSearchParams(), text };
  return { path: text.slice(0, at), query: new URLSearchParams(text.slice(at + 1)), text };
}

/** The `href` of a path such as "kernels" with a query. */
export function href(path: string, query: Query = {}): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") given.set(name, String(value));
  }
  const text = given.toString();
  return `#/${path}${text ? `?${text}` : ""}`;
}

/** Go somewhere; the browser's back button leads back. */
export function go(path: string, query: Query = {}): void {
  window.location.hash = href(path, query);
}

/** Change some of the query's values where one is; null takes a value out. No step for "back". */
export function setQuery(values: Query): void {
  const { path, query } = address.value;
  // a link was followed, and the page is not told yet: what it leads to stays
  const { hash } = window.location;
  if (hash && !framed && parsed(hash).path !== path) return;
  address.value = parsed(href(path.slice(1), { ...Object.fromEntries(query), ...values }));
  write();
}

/** Most changes of the address that browsers accept in two seconds; a slider makes more, and only the last one counts. */
const MOST_WRITES = 30;
let [written, waiting] = [0, false];

function write(): void {
  if (written < MOST_WRITES) {
    written += 1;
    setTimeout(() => (written -= 1), 2000);
    window.history.replaceState(null, "", `${framed ? FRAMED : ""}#${address.value.text}`);
  } else if (!waiting) {
    waiting = true;
    setTimeout(() => {
      waiting = false;
      write();
    }, 200);
  }
}

/** Follow the address bar. */
export function startRouter(): void {
  window.addEventListener("hashchange", () => {
    address.value = parsed(window.location.hash);
  });
  if (framed) document.addEventListener("click", follow);
}

function follow(event: MouseEvent): void {
  const link = event.target instanceof Element ? event.target.closest('a[href^="#"]') : null;
  if (!link || event.defaultPrevented) return;
  event.preventDefault();
  window.location.hash = link.getAttribute("href") ?? "";
}

/** What the address says; null where it says nothing. */
export function chosen(name: string): string | null {
  return address.value.query.get(name) || null;
}

/** A whole number from 0 on; null where there is none. */
export function chosenNumber(name: string): number | null {
  const text = chosen(name);
  return text !== null && /^\d+$/.test(text) ? Number(text) : null;
}
