"use strict";
// Light and dark: the system's choice until the reader makes one; and colours for the canvas.

const systemDark = window.matchMedia("(prefers-color-scheme: dark)");
let chosenTheme = storedTheme();
let cachedColours = null;

/** A page opened from a file may be refused storage: then a choice lasts until it is closed. */
function storedTheme() {
  try {
    return window.localStorage.getItem("kvtrace-theme");
  } catch {
    return null;
  }
}

function storeTheme(theme) {
  try {
    window.localStorage.setItem("kvtrace-theme", theme);
  } catch {
    chosenTheme = theme;
  }
}

function currentTheme() {
  return chosenTheme ?? (systemDark.matches ? "dark" : "light");
}

function applyTheme() {
  const theme = currentTheme();
  document.documentElement.dataset.theme = theme;
  const button = document.getElementById("theme");
  button.textContent = theme === "dark" ? "☀ Light" : "☾ Dark";
  button.setAttribute("aria-label", theme === "dark" ? "Use light colours" : "Use dark colours");
  cachedColours = null;
  for (const canvas of document.querySelectorAll("canvas")) canvas.dispatchEvent(new Event("themechange"));
}

function startTheme() {
  document.getElementById("theme").addEventListener("click", () => {
    chosenTheme = currentTheme() === "dark" ? "light" : "dark";
    storeTheme(chosenTheme);
    applyTheme();
  });
  systemDark.addEventListener("change", applyTheme);
  applyTheme();
}

function themeColours() {
  if (cachedColours) return cachedColours;
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  cachedColours = {
    text: read("--text"), muted: read("--muted"), line: read("--line"), track: read("--track"),
    mark: read("--mark"), compile: read("--compile"), onKernel: read("--on-kernel"), none: read("--no-kernel"),
  };
  return cachedColours;
}

/** Hues a golden angle apart stay distinct however many kernels there are. */
function kernelHue(kernel) {
  return Math.round((250 + kernel * 137.508) % 360);
}

function kernelColour(kernel) {
  if (kernel < 0) return themeColours().none;
  const saturation = document.documentElement.dataset.theme === "dark" ? 45 : 55;
  return `hsl(${kernelHue(kernel)} ${saturation}% 62%)`;
}

function swatch(kernel) {
  const box = el("span", { class: kernel < 0 ? "swatch unknown" : "swatch", "aria-hidden": "true" });
  box.style.setProperty("--hue", kernelHue(Math.max(kernel, 0)));
  return box;
}
