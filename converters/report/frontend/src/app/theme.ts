// Light and dark: the system's choice until the reader makes one, which is remembered.

import { computed, effect, signal } from "@preact/signals";

export type Choice = "system" | "light" | "dark";

const KEY = "kvtrace-theme";
const CHOICES: readonly Choice[] = ["system", "light", "dark"];

const systemDark = window.matchMedia("(prefers-color-scheme: dark)");
const systemTheme = signal<"light" | "dark">(systemDark.matches ? "dark" : "light");

export const themeChoice = signal<Choice>(stored());
/** What is shown now. Canvases read it so that they are drawn again. */
export const theme = computed(() =>
  themeChoice.value === "system" ? systemTheme.value : themeChoice.value,
);

/** A page opened from a file may be refused storage: then a choice lasts until it is closed. */
function stored(): Choice {
  try {
    const value = window.localStorage.getItem(KEY);
    return CHOICES.find((choice) => choice === value) ?? "system";
  } catch {
    return "system";
  }
}

/** Go from system to light to dark and round again. */
export function nextTheme(): void {
  const at = CHOICES.indexOf(themeChoice.value);
  themeChoice.value = CHOICES[(at + 1) % CHOICES.length] ?? "system";
  try {
    window.localStorage.setItem(KEY, themeChoice.value);
  } catch {
    return; // the choice lasts as long as the page
  }
}

export function startTheme(): void {
  systemDark.addEventListener("change", () => {
    systemTheme.value = systemDark.matches ? "dark" : "light";
  });
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
  });
}
