// The frame around the views: header, navigation, the view that the address names.

import { useEffect, useRef, useState } from "preact/hooks";
import { DOCUMENT, page } from "../data/page";
import { Legend } from "../parts/text";
import { Boundary, NotHere } from "./boundary";
import { Finder } from "./finder";
import { KeyHelp, startKeys } from "./keys";
import { type Match, matchView, VIEWS } from "./registry";
import { address, href } from "./router";
import { type Choice, nextTheme, themeChoice } from "./theme";
import type { View } from "./view";

export function App() {
  const [help, setHelp] = useState(false);
  const content = useRef<HTMLElement>(null);
  const shown = useRef(address.value.path);
  const views = VIEWS.filter((view) =>
    page.has(DOCUMENT) ? view.name === DOCUMENT : (view.shown?.(page) ?? true),
  );
  const sections = views.filter((view) => view.section === view.name);
  const { path, query, text } = address.value;
  const match = matchView(path, views);

  useEffect(() => startKeys(sections, () => setHelp(true)), []);
  useEffect(() => {
    window.scrollTo(0, 0);
    // The element with the focus is gone with its view: the new view takes the keyboard.
    if (shown.current !== path && document.activeElement === document.body) {
      content.current?.focus({ preventScroll: true });
    }
    shown.current = path;
    // On a phone the sections scroll sideways.
    document.querySelector("#nav [aria-current]")?.scrollIntoView({ block: "nearest" });
  }, [path]);
  useEffect(() => {
    const heading = content.current?.querySelector("h1")?.textContent;
    document.title = `${heading ? `${heading} · ` : ""}${page.report.title}`;
    document.documentElement.dataset.address = text;
  }, [text]);

  return (
    <>
      <a
        class="skip"
        href="#content"
        onClick={(event) => {
          event.preventDefault();
          content.current?.focus();
        }}
      >
        Skip to content
      </a>
      <header class="bar">
        <span class="brand" title={page.report.title}>
          kvtrace <span class="muted">{page.report.title}</span>
        </span>
        <nav id="nav" aria-label="Sections">
          {sections.map((view) => (
            <NavLink key={view.name} view={view} match={match} />
          ))}
        </nav>
        {views.some((view) => view.find) ? <Finder views={views} /> : null}
        <ThemeButton />
        <button type="button" class="quiet" aria-label="Keys" onClick={() => setHelp(true)}>
          ?
        </button>
      </header>
      <main id="content" tabIndex={-1} ref={content}>
        <Boundary address={text}>
          {match ? (
            <match.view.Component
              key={match.view.name}
              page={page}
              params={match.params}
              query={query}
            />
          ) : (
            <NotHere what="page" />
          )}
        </Boundary>
        <Legend />
      </main>
      <KeyHelp open={help} onClose={() => setHelp(false)} />
    </>
  );
}

function NavLink({ view, match }: { view: View; match: Match | null }) {
  const badge = view.badge?.();
  const current = match?.view.section === view.name;
  return (
    <a href={href(view.routes[0] ?? "")} aria-current={current ? "page" : undefined}>
      {view.title}
      {badge ? <span class={`badge ${badge.kind}`}>{badge.text}</span> : null}
    </a>
  );
}

const THEME_NAMES: Readonly<Record<Choice, string>> = {
  system: "◐ System",
  light: "☀ Light",
  dark: "☾ Dark",
};

function ThemeButton() {
  const name = THEME_NAMES[themeChoice.value];
  return (
    <button
      type="button"
      id="theme"
      class="quiet"
      title="Colors: system, light or dark"
      onClick={nextTheme}
    >
      <span class="hidden">Colors: </span>
      {name}
    </button>
  );
}
