"""Contrast of each text on a page with what is behind it, as WCAG 2.1 AA asks for.

Colors are those that the browser computed. Behind a text is the nearest box around it with a
background color; translucent ones and opacity are mixed with what is behind them. Gradients and
pictures are not looked at.
"""

from tests.support.browser import OpenPage

#: A text has at least 4.5 : 1, a large one (24 px, or 18.66 px and bold) at least 3 : 1.
_PROBLEMS = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  /** Red, green and blue from 0 to 255, and opacity from 0 to 1, of any color of CSS. */
  const parts = (color) => {
    if (!known.has(color)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = color;
      canvas.fillRect(0, 0, 1, 1);
      const [red, green, blue, opacity] = canvas.getImageData(0, 0, 1, 1).data;
      known.set(color, [red, green, blue, opacity / 255]);
    }
    return known.get(color);
  };
  const mixed = (front, back, opacity) =>
    [0, 1, 2].map((at) => front[at] * opacity + back[at] * (1 - opacity));
  const above = (element) => element.parentElement ?? element.getRootNode().host ?? null;
  const behind = (element) => {
    if (!element) return parts(getComputedStyle(document.documentElement).backgroundColor)[3]
      ? parts(getComputedStyle(document.documentElement).backgroundColor) : [255, 255, 255];
    const color = parts(getComputedStyle(element).backgroundColor);
    return color[3] === 1 ? color : mixed(color, behind(above(element)), color[3]);
  };
  /** The fill of the shape that a text of a drawing lies on; of several the one drawn last. */
  const shapeUnder = (text) => {
    const { left, right, top, bottom } = text.getBoundingClientRect();
    const [x, y] = [(left + right) / 2, (top + bottom) / 2];
    const under = [...text.ownerSVGElement.querySelectorAll("rect")].filter((shape) => {
      const box = shape.getBoundingClientRect();
      const before = shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING;
      return before && x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
    });
    return under.length ? parts(getComputedStyle(under.at(-1)).fill) : null;
  };
  const opacityOf = (element) =>
    element ? Number(getComputedStyle(element).opacity) * opacityOf(above(element)) : 1;
  const luminance = (color) => {
    const [red, green, blue] = color.slice(0, 3).map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const found = new Set();
  const look = (root) => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.nodeType === Node.ELEMENT_NODE) {
        if (node.shadowRoot) look(node.shadowRoot);
        continue;
      }
      const element = node.parentElement;
      if (!element || !node.data.trim()) continue;
      if (element.closest("script, style, title, option, :disabled, .hidden, .skip")) continue;
      if (!element.checkVisibility({ visibilityProperty: true })) continue;
      const style = getComputedStyle(element);
      const inDrawing = element instanceof SVGElement;
      const color = parts(inDrawing ? style.fill : style.color);
      const back = (inDrawing && shapeUnder(element)) || behind(element);
      const text = mixed(color, back, color[3] * opacityOf(element));
      const [one, other] = [luminance(text), luminance(back)];
      const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
      const size = parseFloat(style.fontSize);
      const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      if (ratio < (large ? 3 : 4.5)) {
        const place = `${element.tagName.toLowerCase()}.${element.getAttribute("class") ?? ""}`;
        found.add(`contrast ${ratio.toFixed(2)}: “${node.data.trim().slice(0, 40)}” in ${place}`);
      }
    }
  };
  look(document.body);
  return [...found];
}"""


def contrast_problems(opened: OpenPage) -> list[str]:
    """Return a line for each text that is paler than WCAG 2.1 AA allows, in what is shown."""
    problems: list[str] = opened.page.evaluate(_PROBLEMS)
    return problems
