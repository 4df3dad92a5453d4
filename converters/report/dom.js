"use strict";
// Elements. Text from the trace enters the page here only, and only as text.

/**
 * Make an element. `properties` may have class, title, href, for, type, id, and so on as
 * attributes, `on` (event → listener) and `data` (data attributes). Children that are null or
 * false are left out; strings and numbers become text.
 */
function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    } else if (name === "data") {
      Object.assign(node.dataset, value);
    } else {
      node.setAttribute(name, value === true ? "" : String(value));
    }
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

function link(href, text, title) {
  return el("a", { href, title }, text);
}

function code(text, properties = {}) {
  return el("code", properties, text);
}

function section(title, ...children) {
  return el("section", {}, el("h2", {}, title), ...children);
}

function note(...children) {
  return el("p", { class: "note" }, ...children);
}

/** A command that the reader can copy. */
function command(text) {
  return code(text, { class: "command" });
}

function pill(kind, text) {
  return el("span", { class: `pill ${kind}` }, text);
}

/** A figure with its name, where it comes from, and the plain number for tests and screen readers. */
function figure(name, value, shown, source, detail) {
  return el(
    "div",
    { class: "figure", title: source, data: { figure: name, value: value ?? "" } },
    el("span", { class: "figure-value" }, shown),
    el("span", { class: "figure-name" }, name),
    el("span", { class: "muted small" }, detail ?? source),
  );
}

/** A description list of [name, content] pairs; pairs without content are left out. */
function facts(pairs) {
  const list = el("dl", { class: "facts" });
  for (const [name, content] of pairs) {
    if (content === null || content === undefined || content === "") continue;
    list.append(el("div", {}, el("dt", {}, name), el("dd", {}, content)));
  }
  return list;
}

/** A thin bar for a share between 0 and 1. */
function shareBar(share) {
  const fill = el("span", { class: "share-fill" });
  fill.style.setProperty("inline-size", `${Math.max(0, Math.min(1, share)) * 100}%`);
  return el("span", { class: "share", "aria-hidden": "true" }, fill);
}

function option(value, text) {
  return el("option", { value }, text);
}

function labelled(text, control) {
  return el("label", { class: "control" }, el("span", {}, text), control);
}
