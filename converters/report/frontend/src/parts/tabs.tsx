// Tabs, as the accessibility guidelines describe them: arrow keys move between them.

import type { ComponentChildren } from "preact";
import { useId, useRef } from "preact/hooks";

export interface Tab {
  readonly name: string;
  readonly title: ComponentChildren;
}

interface TabsProps {
  readonly label: string;
  readonly tabs: readonly Tab[];
  readonly chosen: string;
  onChoose(name: string): void;
  /** The chosen tab's panel. */
  readonly children: ComponentChildren;
  /** Shown at the end of the row of tabs. */
  readonly aside?: ComponentChildren;
}

const STEPS: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1 };

export function Tabs(props: TabsProps) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);

  function onKeyDown(event: KeyboardEvent): void {
    const at = props.tabs.findIndex((tab) => tab.name === props.chosen);
    const ends: Record<string, number> = { Home: 0, End: props.tabs.length - 1 };
    const step = STEPS[event.key];
    const next = ends[event.key] ?? (step === undefined ? undefined : at + step);
    if (next === undefined) return;
    event.preventDefault();
    const place = (next + props.tabs.length) % props.tabs.length;
    const tab = props.tabs[place];
    if (tab) props.onChoose(tab.name);
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[place]?.focus();
  }

  return (
    <div class="tabs">
      <div class="tabs-head">
        <div
          class="tab-list"
          role="tablist"
          aria-label={props.label}
          ref={list}
          onKeyDown={onKeyDown}
        >
          {props.tabs.map((tab) => (
            <button
              key={tab.name}
              type="button"
              role="tab"
              id={`${id}-${tab.name}`}
              data-tab={tab.name}
              aria-selected={tab.name === props.chosen}
              aria-controls={`${id}-panel`}
              tabIndex={tab.name === props.chosen ? 0 : -1}
              onClick={() => props.onChoose(tab.name)}
            >
              {tab.title}
            </button>
          ))}
        </div>
        {props.aside}
      </div>
      <div
        class="tab-panel"
        role="tabpanel"
        id={`${id}-panel`}
        aria-labelledby={`${id}-${props.chosen}`}
      >
        {props.children}
      </div>
    </div>
  );
}
