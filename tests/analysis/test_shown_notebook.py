"""The notebook of the documentation runs without a screen, and a browser shows what it should."""

import pytest

from tests.support.browser import browser
from tests.support.notebooks import NOTEBOOK, executed, frames_ready, html_outputs, write_page

pytest.importorskip("nbclient", reason="the notebook is run by nbclient and ipykernel")


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    return executed(NOTEBOOK, tmp_path_factory.mktemp("notebook"))


@pytest.mark.process
def test_every_cell_runs_and_shows_its_object(notebook):
    shown = "".join(html_outputs(notebook))

    assert len([*html_outputs(notebook)]) == 9
    assert "error[out-of-bounds]" in shown
    assert "no error" in shown
    assert "1 gone" in shown


def test_the_saved_notebook_has_no_outputs():
    """They would be of one machine, and of one moment; the pictures show them."""
    import nbformat

    read = nbformat.read(NOTEBOOK, as_version=4)
    assert [cell.get("outputs", []) for cell in read.cells if cell.get("outputs")] == []
    nbformat.validate(read)


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_browser_shows_the_notebook_without_network_requests(notebook, tmp_path, theme):
    page = write_page(notebook, tmp_path / "notebook.html", theme)

    with browser() as chromium, chromium.open(page, scheme=theme) as opened:
        frames_ready(opened)
        report = opened.page.frame_locator("iframe")
        assert report.locator("h1").first.inner_text() == "difference"
        report.get_by_role("link", name="Findings").first.click()
        report.locator("h1", has_text="Findings").wait_for()
        assert "out-of-bounds" in report.locator("main").inner_text()

        assert "error[out-of-bounds]" in opened.page.locator(".kvtrace .error").first.inner_text()
        assert {request.partition("#")[0] for request in opened.requests} == {page.as_uri()}
        assert opened.console == []


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_and_tables_of_the_notebook_are_legible(notebook, tmp_path, theme):
    page = write_page(notebook, tmp_path / "notebook.html", theme)

    with browser() as chromium, chromium.open(page, scheme=theme) as opened:
        ratios = opened.page.evaluate(_CONTRASTS)
        aligned = opened.page.locator(".kvtrace td.number").first.evaluate(
            "cell => getComputedStyle(cell).textAlign"
        )

    assert aligned == "right"
    assert {"error", "better", "warning"} <= {name for name, _ in ratios}
    assert [pair for pair in ratios if pair[1] < 4.5] == []


#: Contrast of each colored text with the page behind it, by https://www.w3.org/TR/WCAG22/.
_CONTRASTS = """() => {
  const canvas = document.createElement("canvas").getContext("2d");
  const channels = (color) => {
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const luminance = (color) => {
    const [red, green, blue] = channels(color).map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const back = luminance(getComputedStyle(document.body).backgroundColor);
  const named = ["error", "warning", "better", "worse", "caret", "unknown", "note"];
  return [...document.querySelectorAll(named.map((name) => `.kvtrace .${name}`).join(","))].map(
    (element) => {
      const front = luminance(getComputedStyle(element).color);
      const [light, dark] = front > back ? [front, back] : [back, front];
      return [element.className.split(" ").pop(), (light + 0.05) / (dark + 0.05)];
    },
  );
}"""
