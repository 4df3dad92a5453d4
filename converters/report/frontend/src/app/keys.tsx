// Keys that work everywhere, and the list of them.

import { useEffect, useRef } from "preact/hooks";
import { type Actions, listenForKeys } from "../parts/keys";
import { VIEWS } from "./registry";
import { go } from "./router";
import { nextTheme } from "./theme";
import type { View } from "./view";

type Keys = readonly (readonly [key: string, action: string])[];

const EVERYWHERE: Keys = [
  ["/", "Search or filter"],
  ["Ctrl + K", "Search the whole report"],
  ["1 … 9", "Go to a section"],
  ["t", "System colors, light, dark"],
  ["?", "This list"],
  ["Tab", "To the next control"],
];

const IN_TABLES: Keys = [
  ["↑ ↓ Page Home End", "From row to row"],
  ["Enter", "Choose the row"],
  ["Ctrl + C", "Copy the table, as tab-separated values"],
];

export function startKeys(sections: readonly View[], showHelp: () => void): () => void {
  const toSections = sections
    .slice(0, 9)
    .map((view, place) => [String(place + 1), () => go(view.routes[0] ?? "")] as const);
  const actions: Actions = {
    "/": () => focusSearch("main"),
    t: nextTheme,
    "?": showHelp,
    ...Object.fromEntries(toSections),
  };
  const stop = listenForKeys(() => actions);
  const onKey = (event: KeyboardEvent): void => {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "k") return;
    event.preventDefault();
    focusSearch("header");
  };
  window.addEventListener("keydown", onKey);
  return () => {
    stop();
    window.removeEventListener("keydown", onKey);
  };
}

/** To the view's own filter if it has one, or to the search in the header. */
function focusSearch(first: "main" | "header"): void {
  const own = document.querySelector<HTMLInputElement>("main input[type=search]");
  const all = document.querySelector<HTMLInputElement>("header input[type=search]");
  const input = first === "main" ? (own ?? all) : all;
  input?.focus();
  input?.select();
}

export function KeyHelp(props: { open: boolean; onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (props.open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [props.open]);
  const views = VIEWS.filter((view) => view.keys?.length);
  return (
    <dialog ref={dialog} class="keys" aria-labelledby="keys-title" onClose={props.onClose}>
      <h2 id="keys-title">Keys</h2>
      <div class="columns">
        <KeyTable title="Everywhere" keys={EVERYWHERE} />
        <KeyTable title="In tables" keys={IN_TABLES} />
        {views.map((view) => (
          <KeyTable key={view.name} title={view.title} keys={view.keys ?? []} />
        ))}
      </div>
      <button type="button" onClick={props.onClose}>
        Close
      </button>
    </dialog>
  );
}

function KeyTable(props: { title: string; keys: Keys }) {
  return (
    <section>
      <h3>{props.title}</h3>
      <dl class="key-list">
        {props.keys.map(([key, action]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{action}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
