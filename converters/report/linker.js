"use strict";
// Links the lines of two panes, source and a compiler stage, in both directions.

/** Keeps the two panes' highlighted lines in step. */
class Linker {
  constructor(left, right, status) {
    this.left = left;
    this.right = right;
    this.status = status;
    this.held = null;
    this.toStage = new Map();
    this.toSource = new Map();
    this.follow(left);
    this.follow(right);
  }

  /** `paths` are the source files that `links.files` stand for on this page. */
  setStage(stage, links, paths) {
    this.stage = STAGE_NAMES[stage] ?? stage;
    this.toStage.clear();
    this.toSource.clear();
    (links?.lines ?? []).forEach((stack, line) => {
      if (stack < 0) return;
      const keys = links.stacks[stack].map(([file, at]) => sourceKey(paths[file], at));
      this.toSource.set(String(line), keys);
      this.right.byKey.get(String(line))?.classList.add("linked");
      keys.forEach((key, depth) => {
        if (!this.toStage.has(key)) this.toStage.set(key, []);
        this.toStage.get(key).push([String(line), depth]);
      });
    });
    const held = this.held;
    this.held = null;
    if (held?.pane === this.left) this.hold(held.pane, held.key);
    else this.clear();
  }

  follow(pane) {
    const keyOf = (event) => event.target.closest?.(".line")?.dataset.key ?? null;
    pane.node.addEventListener("pointermove", (event) => { if (!this.held) this.point(pane, keyOf(event)); });
    pane.node.addEventListener("pointerleave", () => { if (!this.held) this.clear(); });
    pane.node.addEventListener("click", (event) => this.hold(pane, keyOf(event)));
    pane.node.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") { this.held = null; this.clear(); }
      if (step && event.target === pane.node) { event.preventDefault(); this.step(pane, step); }
    });
  }

  /** Go to the next linked line of a pane. */
  step(pane, direction) {
    const keys = [...pane.byKey.keys()].filter((key) => this.partners(pane, key).length && pane.byKey.get(key).isConnected);
    if (!keys.length) return;
    const at = this.held?.pane === pane ? keys.indexOf(this.held.key) : -1;
    const next = keys[Math.min(Math.max(at + direction, 0), keys.length - 1)];
    this.held = null;
    this.hold(pane, next);
    scrollInside(pane.node, pane.byKey.get(next));
  }

  /** [key in the other pane, how far out in the stack] of a line; 0 is the line itself. */
  partners(pane, key) {
    if (pane === this.left) return this.toStage.get(key) ?? [];
    return (this.toSource.get(key) ?? []).map((partner, depth) => [partner, depth]);
  }

  hold(pane, key) {
    const same = this.held && this.held.pane === pane && this.held.key === key;
    this.held = null;
    if (same || key === null || !this.partners(pane, key).length) { this.clear(); return; }
    this.point(pane, key);
    this.held = { pane, key };
    const other = pane === this.left ? this.right : this.left;
    const [first] = this.partners(pane, key).filter(([, depth]) => depth === 0).concat(this.partners(pane, key));
    this.reveal(other, first[0]);
  }

  reveal(pane, key) {
    const node = pane.byKey.get(key);
    if (!node) return;
    scrollInside(pane.node, node);
  }

  clear() {
    for (const pane of [this.left, this.right]) {
      for (const node of pane.lines.querySelectorAll(".here, .there, .outer")) node.classList.remove("here", "there", "outer");
    }
  }

  point(pane, key) {
    this.clear();
    const partners = key === null ? [] : this.partners(pane, key);
    if (!partners.length) return;
    const other = pane === this.left ? this.right : this.left;
    pane.byKey.get(key)?.classList.add("here");
    for (const [partner, depth] of partners) other.byKey.get(partner)?.classList.add(depth === 0 ? "there" : "outer");
    this.status.textContent = this.describe(pane, key, partners);
  }

  describe(pane, key, partners) {
    if (pane === this.left) {
      const [path, line] = key.split("\n");
      const numbers = partners.map(([partner]) => Number(partner) + 1);
      return `${baseName(path)}:${line} ↔ ${plural(numbers.length, `${this.stage} line`)}: ${ranges(numbers)}`;
    }
    const frames = partners.map(([partner]) => { const [path, line] = partner.split("\n"); return `${baseName(path)}:${line}`; });
    return `${this.stage} line ${Number(key) + 1} ↔ ${frames.join(", inlined at ")}`;
  }
}

function ranges(numbers) {
  const parts = [];
  for (const number of numbers) {
    const last = parts[parts.length - 1];
    if (last && last[1] === number - 1) last[1] = number;
    else parts.push([number, number]);
  }
  const text = parts.slice(0, 12).map(([from, to]) => (from === to ? String(from) : `${from}–${to}`)).join(", ");
  return parts.length > 12 ? `${text} …` : text;
}

function scrollInside(box, node) {
  const [outer, inner] = [box.getBoundingClientRect(), node.getBoundingClientRect()];
  if (inner.top >= outer.top + 24 && inner.bottom <= outer.bottom - 24) return;
  box.scrollTop += inner.top - outer.top - outer.height / 3;
}
