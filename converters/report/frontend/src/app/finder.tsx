// The search in the header: every view says what it finds for some words.

import { useMemo, useState } from "preact/hooks";
import { shortText } from "../data/format";
import type { Found, View } from "./view";

const MOST_FOUND = 12;

export function Finder(props: { views: readonly View[] }) {
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const [open, setOpen] = useState(false);
  const found = useMemo(() => findAll(props.views, words), [words]);
  const shown = open && words.trim() !== "";

  function onKeyDown(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") {
      setOpen(false);
    } else if (step && found.length) {
      event.preventDefault();
      setAt((at + step + found.length) % found.length);
    } else if (event.key === "Enter") {
      visit(found[at]);
    }
  }

  function visit(result: Found | undefined): void {
    if (!result) return;
    window.location.hash = result.href;
    setOpen(false);
  }

  return (
    <div class="finder" role="search">
      <input
        type="search"
        role="combobox"
        list={undefined}
        aria-label="Search the report"
        aria-expanded={shown}
        aria-controls="finder-results"
        aria-activedescendant={shown && found.length ? `found-${at}` : undefined}
        placeholder="Search  Ctrl + K"
        spellcheck={false}
        autocomplete="off"
        value={words}
        onInput={(event) => {
          setWords(event.currentTarget.value);
          setAt(0);
          setOpen(true);
        }}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={onKeyDown}
      />
      <ul id="finder-results" role="listbox" aria-label="Found" hidden={!shown}>
        {found.map((result, place) => (
          <li
            key={result.href}
            id={`found-${place}`}
            role="option"
            aria-selected={place === at}
            onMouseDown={(event) => {
              event.preventDefault();
              visit(result);
            }}
          >
            <span>{shortText(result.title, 80)}</span>{" "}
            <span class="muted small">{shortText(result.detail, 80)}</span>
          </li>
        ))}
        {found.length ? null : (
          <li role="option" aria-selected="false" aria-disabled="true" class="muted">
            Nothing found
          </li>
        )}
      </ul>
    </div>
  );
}

function findAll(views: readonly View[], words: string): Found[] {
  if (!words.trim()) return [];
  return views.flatMap((view) => view.find?.(words) ?? []).slice(0, MOST_FOUND);
}
