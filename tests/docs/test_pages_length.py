"""README.md, CONTRIBUTING.md and entry pages are short; developers' pages have no broken links."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import ENTRY_PAGES, ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
#: Lines of a screen.
SCREEN = 45


def test_contributing_is_two_screens_that_lead_to_every_page_about_it():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 2 * SCREEN
    pages = {page.name for page in (ROOT / "docs" / "contributing").glob("*.md")}
    assert set(re.findall(r"\]\(docs/contributing/([\w.]+)\)", text)) == pages


def test_readme_is_short_and_says_what_an_installation_takes():
    assert len(README.splitlines()) <= 120
    assert len(README.split()) <= 700
    assert {"400 MB", "5.8 GB"} <= set(re.findall(r"[\d.]+ [MG]B", README))


def test_what_everybody_reads_of_the_format_comes_first_and_is_short():
    text = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")
    assert len(text.partition("\n## Reference\n")[0].split()) <= 1_600
    assert len(text.partition("```sql")[0].split()) <= 200


@pytest.mark.parametrize("page", ENTRY_PAGES, ids=lambda page: page.stem)
def test_entry_page_is_a_screen_with_a_picture_and_an_example(page: Path):
    text = page.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= SCREEN
    assert text.count("<picture>") == text.count("```console\n") == 1
    assert f"](docs/{page.name})" in README.partition("\n## ")[0]


@pytest.mark.parametrize("figure", ["7.8 bytes", "4 to 23 %", "2 to 12 %"])
def test_figures_of_cost_are_on_the_page_about_cost(figure: str):
    assert figure in (ROOT / "docs" / "cost.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["README.md", "docs/longruns.md", "benchmarks/RESULTS.md"])
def test_pages_agree_on_the_bytes_of_a_launch(name: str):
    assert "7.8 bytes" in (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs" / "internals").glob("*.md")), ids=lambda page: page.stem
)
def test_links_of_pages_for_developers_lead_to_files(page: Path):
    targets = re.findall(r"\]\(([^)\s#]+)", page.read_text(encoding="utf-8"))
    local = [target for target in targets if not target.startswith("https:")]
    assert [target for target in local if not (page.parent / target).exists()] == []
