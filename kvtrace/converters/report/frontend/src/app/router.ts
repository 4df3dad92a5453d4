// Addresses: everything behind "#". A path names the view, a query what is chosen in it.

import { signal } from "@preact/signals";

export interface Address {
  /** "/kernel/3". */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Both together, as they stand behind "#". */
  readonly text: string;
}

type Value = string | number | boolean | null | undefined;

export const address = signal<Address>(parsed(window.location.hash));

function parsed(hash: string): Address {
  const text = hash.slice(1) || "/";
  const at = text.indexOf("?");
  if (at < 0) return { path: text, query: new URLSearchParams(), text };
  return { path: text.slice(0, at), query: new URLSearchParams(text.slice(at + 1)), text };
}

/** The `href` of a path such as "kernels" with a query; values that are null or "" are left out. */
export function href(path: string, query: Readonly<Record<string, Value>> = {}): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") given.set(name, String(value));
  }
  const text = given.toString();
  return `#/${path}${text ? `?${text}` : ""}`;
}

/** Go somewhere; the browser's back button leads back. */
export function go(path: string, query: Readonly<Record<string, Value>> = {}): void {
  window.location.hash = href(path, query);
}

/** Change some of the query's values where one is; null takes a value out. No step for "back". */
export function setQuery(values: Readonly<Record<string, Value>>): void {
  const { path, query } = address.value;
  const all: Record<string, Value> = { ...Object.fromEntries(query), ...values };
  replace(path.replace(/^\//, ""), all);
}

/** Stand at another address without a step for "back". */
export function replace(path: string, query: Readonly<Record<string, Value>> = {}): void {
  window.history.replaceState(null, "", href(path, query));
  address.value = parsed(window.location.hash);
}

/** Follow the address bar. */
export function startRouter(): void {
  window.addEventListener("hashchange", () => {
    address.value = parsed(window.location.hash);
  });
}
