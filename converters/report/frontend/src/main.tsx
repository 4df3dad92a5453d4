// Reads the data and shows the page. `data-ready` on the root says that it is shown.

import { render } from "preact";
import { App } from "./app/app";
import { Failed } from "./app/boundary";
import { startRouter } from "./app/router";
import { startTheme } from "./app/theme";
import { DOCUMENT, page, readPage, readTimeline } from "./data/page";
import "./style/page.css";

async function start(place: HTMLElement): Promise<void> {
  startTheme();
  startRouter();
  await readPage();
  place.replaceChildren();
  render(<App />, place);
  await nextFrame(); // what needs no launches is seen first
  if (!page.has(DOCUMENT)) await readTimeline();
  requestAnimationFrame(() => {
    document.documentElement.dataset["ready"] = "true";
  });
}

/** When a frame was drawn; a page that is not seen draws none. */
function nextFrame(): Promise<unknown> {
  return new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve, 0));
    setTimeout(resolve, 200);
  });
}

const place = document.getElementById("app");
if (place) {
  start(place).catch((problem: unknown) => {
    render(<Failed problem={problem} />, place);
    throw problem;
  });
}
