"use strict";
// Reads the data, and shows the page that the address names.

const SECTIONS = [["#/", "Overview"], ["#/kernels", "Kernels"], ["#/launches", "Launches"], ["#/findings", "Findings"]];

function notFound(what) {
  return [el("h1", {}, "Not here"), note(`This report has no such ${what}. `, link("#/", "Overview"))];
}

/** The page for an address such as `/kernel/3/variant/7` or `/launches?kernel=3`. */
function pageFor(data, address) {
  const [path, query] = address.split("?");
  const [name, ...rest] = path.split("/").filter(Boolean);
  const { report, launches, device, bins } = data;
  const number = (place) => (/^\d+$/.test(rest[place] ?? "") ? Number(rest[place]) : -1);
  const pages = {
    kernels: () => kernelsPage(report),
    kernel: () => kernelPage(report, number(0), number(2)),
    launches: () => launchesPage(report, launches, new URLSearchParams(query), -1),
    launch: () => launchesPage(report, launches, new URLSearchParams(query), number(0)),
    call: () => callPage(report, number(0)),
    findings: () => findingsPage(report),
  };
  if (!name) return overviewPage(report, launches, device, bins);
  return Object.hasOwn(pages, name) ? pages[name]() : notFound("page");
}

function showPage(data) {
  const address = location.hash.slice(1) || "/";
  const content = document.getElementById("content");
  content.replaceChildren(...pageFor(data, address));
  const current = SECTIONS.findLast(([href]) => href === "#/" ? address === "/" : sectionOf(address) === href);
  for (const anchor of document.querySelectorAll("#nav a")) {
    if (current && anchor.getAttribute("href") === current[0]) anchor.setAttribute("aria-current", "page");
    else anchor.removeAttribute("aria-current");
  }
  const heading = content.querySelector("h1");
  document.title = `${heading ? `${heading.textContent} · ` : ""}${data.report.title}`;
  window.scrollTo(0, 0);
  document.documentElement.dataset.address = address;
}

function sectionOf(address) {
  if (/^\/kernel/.test(address)) return "#/kernels";
  if (/^\/(launch|call)/.test(address)) return "#/launches";
  return `#${address.split("?")[0]}`;
}

function fillNavigation(report) {
  const badge = { "#/kernels": report.kernels.length, "#/findings": report.totals.violations };
  for (const [href, text] of SECTIONS) {
    const count = badge[href] ? el("span", { class: href === "#/findings" ? "badge error" : "badge" }, formatCount(badge[href])) : null;
    document.getElementById("nav").append(el("a", { href }, text, count));
  }
  document.querySelector(".brand").append(el("span", { class: "muted" }, ` ${report.title}`));
}

async function start() {
  startTheme();
  document.getElementById("skip").addEventListener("click", (event) => {
    event.preventDefault();
    document.getElementById("content").focus();
  });
  const report = await readJson("report");
  const [launches, device] = await Promise.all([readColumns("launches"), readColumns("device")]);
  const bins = document.getElementById("bins") ? await readColumns("bins") : null;
  report.launchColumns = launches;
  const data = { report, launches, device, bins };
  fillNavigation(report);
  window.addEventListener("hashchange", () => showPage(data));
  showPage(data);
  document.documentElement.dataset.ready = "true";
}

start().catch((problem) => {
  document.getElementById("content").replaceChildren(
    el("h1", {}, "This report cannot be shown"),
    note(`${problem}. A browser from 2023 or later is needed; if this is one, write the report again.`),
  );
  throw problem;
});
