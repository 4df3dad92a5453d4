// Reads the data and shows the page. `data-ready` on the root says that it is shown.

import { render } from "preact";
import { App } from "./app/app";
import { Failed } from "./app/boundary";
import { startRouter } from "./app/router";
import { startTheme } from "./app/theme";
import { readPage } from "./data/page";
import "./style/page.css";

async function start(place: HTMLElement): Promise<void> {
  startTheme();
  startRouter();
  await readPage();
  place.replaceChildren();
  render(<App />, place);
  requestAnimationFrame(() => {
    document.documentElement.dataset["ready"] = "true";
  });
}

const place = document.getElementById("app");
if (place) {
  start(place).catch((problem: unknown) => {
    render(<Failed problem={problem} />, place);
    throw problem;
  });
}
