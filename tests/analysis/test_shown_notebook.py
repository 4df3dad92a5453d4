"""The notebook of the documentation runs without a screen, and a browser shows what it should."""

import pytest

from tests.support.browser import browser
from tests.support.notebooks import NOTEBOOK, executed, frames_ready, shown_texts, write_page

pytest.importorskip("nbclient", reason="the notebook is run by nbclient and ipykernel")


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    return executed(NOTEBOOK, tmp_path_factory.mktemp("notebook"))


@pytest.mark.process
def test_every_cell_runs_and_shows_its_object(notebook):
    shown = "".join(shown_texts(notebook))

    assert len([*shown_texts(notebook)]) == 9
    assert "error[out-of-bounds]" in shown
    assert "no error" in shown
    assert "1 gone" in shown


def test_the_saved_notebook_has_no_outputs():
    """They would be of one machine, and of one moment."""
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

        assert "error[out-of-bounds]" in opened.page.locator("body").inner_text()
        assert {request.partition("#")[0] for request in opened.requests} == {page.as_uri()}
        assert opened.console == []
