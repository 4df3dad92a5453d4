"""Defects of a layout: text that is cut off, covered or pale, and boxes beyond the window.

Text in the document is measured by its own boxes, as far as the boxes around it let it be seen;
text in canvases by what was drawn, which `watch_canvases` notes.
"""

from itertools import product
from typing import Any, Final

from tests.converters.page_contrast import contrast_problems
from tests.support.browser import OpenPage

#: Widths and heights of windows that every view is made for, in pixels: a wide screen, half of
#: one, and a phone.
WINDOWS: Final = ((1440, 900), (1000, 900), (390, 844))
SCHEMES: Final = ("light", "dark")

#: Notes each text that a canvas draws, until the canvas is drawn anew, which clears it first.
_WATCH = """() => {
  const kinds = CanvasRenderingContext2D.prototype;
  const draw = kinds.fillText;
  kinds.fillText = function (text, x, y, ...rest) {
    const { width } = this.measureText(text);
    const shift = { center: width / 2, end: width, right: width }[this.textAlign] ?? 0;
    const size = parseFloat(this.font.match(/[\\d.]+px/)?.[0] ?? 12);
    const { a, d, e, f, b } = this.getTransform();
    const ratio = devicePixelRatio;
    const turned = b !== 0;
    (this.canvas.texts ??= []).push({
      text: String(text), turned,
      left: ((x - shift) * a + e) / ratio, right: ((x - shift + width) * a + e) / ratio,
      top: (y * d + f) / ratio - size * 0.4, bottom: (y * d + f) / ratio + size * 0.4,
    });
    draw.call(this, text, x, y, ...rest);
  };
  const clear = kinds.clearRect;
  kinds.clearRect = function (...place) {
    this.canvas.texts = [];
    clear.apply(this, place);
  };
}"""

_PROBLEMS = """() => {
  const SLACK = 1.5;
  const found = [];
  const say = (what, element, text) => {
    const place = element.closest("[id]")?.id ?? element.tagName.toLowerCase();
    found.push(`${what}: “${text.trim().slice(0, 60)}” in #${place} ` +
      `${element.tagName.toLowerCase()}.${element.getAttribute("class") ?? ""}`);
  };
  const boxes = new Map();
  /** The part of the page that an element lets its content be seen in, and who cuts it off. */
  const room = (element) => {
    if (!element || element === document.documentElement) {
      return { left: 0, right: innerWidth, top: -Infinity, bottom: Infinity, cutBy: null };
    }
    if (boxes.has(element)) return boxes.get(element);
    const style = getComputedStyle(element);
    const outer = room(style.position === "fixed" ? null : element.parentElement);
    let own = outer;
    const cuts = (way) => way !== "visible";
    if (cuts(style.overflowX) || cuts(style.overflowY)) {
      const box = element.getBoundingClientRect();
      const inside = (least, most, low, high) => [Math.max(least, low), Math.min(most, high)];
      const [left, right] = cuts(style.overflowX)
        ? inside(outer.left, outer.right, box.left, box.right) : [outer.left, outer.right];
      const [top, bottom] = cuts(style.overflowY)
        ? inside(outer.top, outer.bottom, box.top, box.bottom) : [outer.top, outer.bottom];
      const scrolling = (way) => /auto|scroll/.test(way);
      const scrolls = { x: scrolling(style.overflowX), y: scrolling(style.overflowY) };
      own = { left, right, top, bottom, box, element, scrolls, style, outer };
    }
    boxes.set(element, own);
    return own;
  };
  /** Whether what is cut off can be read all the same: by scrolling, or in a tooltip. */
  const reachable = (rect, from) => {
    for (let each = room(from); each.element; each = each.outer) {
      const { box, scrolls, style } = each;
      const wide = style.overflowX !== "visible" &&
        (rect.left < box.left - SLACK || rect.right > box.right + SLACK);
      const tall = style.overflowY !== "visible" &&
        (rect.top < box.top - SLACK || rect.bottom > box.bottom + SLACK);
      if ((wide && scrolls.x) || (tall && scrolls.y)) return true;
      if (wide || tall) return style.textOverflow === "ellipsis" && !!from.closest("[title]");
    }
    return rect.left >= -SLACK && rect.right <= innerWidth + SLACK;
  };
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || element.closest("script, style, option, .hidden, .skip")) continue;
    const folded = element.matches("details:not([open])"); // its own text is; its summary is not
    if (folded || !element.checkVisibility({ visibilityProperty: true })) continue;
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      if (rect.width < 1) continue;
      if (!reachable(rect, element)) say("cut off", element, node.data);
      const box = room(element);
      const seen = {
        node, element, text: node.data,
        left: Math.max(rect.left, box.left), right: Math.min(rect.right, box.right),
        top: Math.max(rect.top, box.top), bottom: Math.min(rect.bottom, box.bottom),
      };
      if (seen.right - seen.left > 1 && seen.bottom - seen.top > 1) texts.push(seen);
    }
  }
  const covers = (all, tell) => {
    all.sort((a, b) => a.top - b.top);
    all.forEach((a, place) => {
      for (let at = place + 1; at < all.length && all[at].top < a.bottom - 2; at += 1) {
        const b = all[at];
        if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > SLACK) tell(a, b);
      }
    });
  };
  // the bar and the heads of tables stay where they are, above what scrolls below them
  const stays = ({ element }) => element.closest(".bar, .boxed thead, .tooltip") !== null;
  covers(texts.filter((each) => !stays(each)), (a, b) => {
    if (a.node !== b.node) say(`on “${b.text.trim().slice(0, 40)}”`, a.element, a.text);
  });
  for (const canvas of document.querySelectorAll("canvas")) {
    const label = canvas.getAttribute("aria-label");
    if (!label) say("no label", canvas, "canvas");
    const drawn = (canvas.texts ?? []).filter(({ turned }) => !turned);
    for (const text of drawn) {
      const { clientWidth: width, clientHeight: height } = canvas;
      if (text.left < -SLACK || text.right > width + SLACK || text.top < -SLACK ||
          text.bottom > height + SLACK) say("cut off in a canvas", canvas, text.text);
    }
    covers(drawn, (a, b) => say(`in a canvas on “${b.text}”`, canvas, a.text));
  }
  const controls = "a[href], button, input, select, textarea, [tabindex='0'], [role=tab]";
  for (const control of document.querySelectorAll(controls)) {
    if (!control.getClientRects().length) continue;
    const named = [control.textContent, control.title, control.getAttribute("aria-label"),
      ...(control.labels ? [...control.labels].map((label) => label.textContent) : [])];
    const by = document.getElementById(control.getAttribute("aria-labelledby"))?.textContent;
    // a select's own text are its choices
    if (control.tagName === "SELECT") named.shift();
    if (![...named, by].some((name) => name?.trim())) say("no label", control, control.tagName);
  }
  const inside = document.documentElement.scrollWidth;
  if (inside > innerWidth) found.push(`the page is ${inside} px wide, the window ${innerWidth}`);
  const wide = new Set();
  for (const element of document.body.querySelectorAll("*")) {
    if (element.closest(".hidden, .skip") || !element.checkVisibility()) continue;
    const { width, left, right } = element.getBoundingClientRect();
    const outside = right > innerWidth + SLACK || left < -SLACK;
    if (!width || !outside || room(element.parentElement).element) continue;
    wide.add(element);
    if (!wide.has(element.parentElement)) say("beyond the window", element, element.textContent);
  }
  return [...new Set(found)];
}"""


def watch_canvases(page: Any) -> None:
    """Let a page note what its canvases write; before it is loaded."""
    page.add_init_script(f"({_WATCH})()")


def screen_problems(opened: OpenPage) -> list[str]:
    """Problems of the layout and of contrasts in what is shown, in each window and theme."""
    page = opened.page
    window = page.viewport_size
    dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    found = []
    for (width, height), scheme in product(WINDOWS, SCHEMES):
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        opened.settle(2)
        problems = layout_problems(opened) + contrast_problems(opened)
        found += [f"{width} {scheme}: {problem}" for problem in problems]
    page.set_viewport_size(window)
    page.emulate_media(color_scheme="dark" if dark else "light")
    return found


def layout_problems(opened: OpenPage) -> list[str]:
    """What is cut off, covered, beyond the window, or without a label, in what is shown now."""
    found: list[str] = opened.page.evaluate(_PROBLEMS)
    return found
