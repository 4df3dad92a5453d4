"""The documentation as a site: it builds strictly, and everything public has its place there.

What is asserted is read from the written HTML, with names from the code.
"""

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from filelock import FileLock

import kvtrace
import kvtrace.clients
from docs_site.demo import REPORT, TIMELINE
from docs_site.format_pages import STORED_SUMS
from docs_site.python_api import documented_classes
from kvtrace.analysis.results import CommandResult, Rows
from kvtrace.analysis.traces import OpenedTrace
from kvtrace.cli import command_line, own_commands
from kvtrace.registry import own_entries
from kvtrace.schema.tables import TABLES
from kvtrace.settings import other_variables, setting_names
from kvtrace.verdicts.rules.table import RULES
from tests.docs.pages import ENTRY_PAGES, ROOT
from tests.support.tiers import needs


class Page(HTMLParser):
    """A page's headings, targets of links, and words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.targets: list[tuple[str, str]] = []
        self.headings: list[str] = []
        self.words = ""
        self._inside: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids |= {given[name] for name in ("id", "name") if given.get(name)}
        for name in ("href", "src", "srcset"):
            if given.get(name):
                self.targets.append((tag, given[name]))
        if re.fullmatch("h[1-6]", tag):
            self._inside.append(tag)
            self.headings.append("")

    def handle_endtag(self, tag):
        if self._inside and tag == self._inside[-1]:
            self._inside.pop()

    def handle_data(self, data):
        self.words += data
        if self._inside:
            self.headings[-1] += data


@pytest.fixture(scope="module")
@needs("process")
def site(tmp_path_factory):
    """The site as `make docs-site` builds it; processes of pytest-xdist share one."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "documentation"
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            build(folder)
    return folder


def build(folder: Path) -> None:
    unfinished = folder.with_suffix(".building")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", unfinished],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout + done.stderr == ""
    unfinished.rename(folder)


@pytest.fixture(scope="module")
def pages(site):
    """Pages by their place; the one for addresses that lead nowhere and the demo left out."""
    found = {str(path.relative_to(site)): path for path in site.rglob("*.html")}
    return {
        name: Page(path.read_text("utf-8"))
        for name, path in found.items()
        if name not in ("404.html", REPORT)
    }


def headings(page: Page) -> list[str]:
    return [heading.replace("¶", "").strip() for heading in page.headings]


@pytest.mark.process
def test_every_command_has_a_page_with_all_its_options(pages):
    for name in own_commands():
        page = pages[f"reference/commands/{name.replace(' ', '-')}.html"]
        assert f"kvtrace {name}" in headings(page)
        assert f"kvtrace {name} " in page.words.partition("Example")[2]
        for shown in command_line(name).options:
            for option in (*shown.on, *shown.off):
                assert re.search(rf"(?<![\w-]){option}(?![\w-])", page.words), (name, option)


def test_every_variable_is_on_the_page_of_settings(pages):
    words = pages["settings.html"].words.split()
    settings = {f"KVTRACE_{name.upper()}" for name in setting_names()}
    assert len(settings) > 10
    assert sorted((settings | other_variables().keys()) - set(words)) == []


def test_every_table_and_column_is_on_a_page_of_the_format(pages):
    of_format = [pages["format.html"], pages["format-extensions.html"]]
    words = {word for page in of_format for word in re.findall(r"\w+", page.words)}
    assert TABLES.keys() <= words
    for table in (table for table in TABLES.values() if table.name not in STORED_SUMS):
        assert sum(table.name in headings(page) for page in of_format) == 1
        assert {column.name for column in table.columns} <= words


def test_every_rule_has_a_page(pages):
    for rule in RULES:
        assert headings(pages[f"rules/{rule}.html"])[0] == rule


def test_every_public_name_and_method_is_on_the_page_of_python(pages):
    found = {heading.split()[0] for heading in headings(pages["reference/python.html"])}
    names = {f"kvtrace.{name}" for name in kvtrace.__all__}
    names |= {f"kvtrace.clients.{name}" for name in kvtrace.clients.__all__}
    names |= {f"kvtrace.{entry.name}" for entry in own_entries("api")}
    for each in (OpenedTrace, Rows, CommandResult, *documented_classes()):
        names |= {each.__name__, *(name for name in vars(each) if is_method(each, name))}
    assert sorted(names - found) == []


def is_method(kind: type, name: str) -> bool:
    value = vars(kind)[name]
    return not name.startswith("_") and (callable(value) or isinstance(value, property))


def test_site_has_every_page_for_users_and_the_repository(pages):
    written = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")}
    written -= {path for path in written if path.parts[0] == "internals"}  # for developers
    names = {str(path.with_suffix(".html")).replace("README", "index") for path in written}
    assert sorted(names - pages.keys()) == []
    assert {"index.html", "project/architecture.html", "project/figures.html"} <= pages.keys()
    assert [name for name in pages if name.startswith("internals/")] == []


def test_site_navigation_begins_with_the_entry_pages(pages):
    targets = [target for tag, target in pages["cost.html"].targets if tag == "a"]
    linked = [target for target in dict.fromkeys(targets) if target.endswith(".html")]
    first = linked[linked.index("find-a-bug.html") :][: len(ENTRY_PAGES)]
    assert first == [f"{page.stem}.html" for page in ENTRY_PAGES]
    assert set(linked[: linked.index("find-a-bug.html")]) <= {"index.html"}


def test_every_link_and_picture_of_the_site_exists_locally(site, pages):
    broken = []
    for name, page in pages.items():
        for tag, target in page.targets:
            if target.startswith(("https:", "http:")):
                assert tag == "a", f"{name} fetches {target}"
                continue
            path, anchor = urldefrag(unquote(target))
            place = (site / name).parent / path if path else site / name
            key = os.path.relpath(place, site)
            known = key in pages and (not anchor or anchor in pages[key].ids)
            if not (known or (key not in pages and not anchor and place.is_file())):
                broken.append(f"{name}: {target}")
    assert broken == []


def test_site_renders_markdown_like_the_repository(pages):
    """No fence and no table is text, and no backslash stands before a bar."""
    signs = ("```", "|---", "\\|")
    odd = [name for name, page in pages.items() if any(sign in page.words for sign in signs)]
    assert odd == []


@pytest.mark.parametrize("term", ["memory-bound", "compute-bound", "launch-bound", "host-bound"])
def test_site_search_has_headings_of_the_profile_page_for_common_terms(site, term):
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    titles = [found["title"].lower() for found in index["docs"] if "profile" in found["location"]]
    assert any(term in title for title in titles)


def test_site_contains_its_search_index_and_scripts(site):
    index = (site / "search" / "search_index.json").read_text("utf-8")
    assert "kvtrace sanitize" in index
    assert "KVTRACE_TENSORS" in index
    assert Path(site / "assets" / "javascripts").is_dir()


@pytest.mark.parametrize("name", ["index.html", "demo.html"])
def test_index_and_demo_pages_link_to_the_demo_report_and_timeline(site, pages, name):
    targets = [target for tag, target in pages[name].targets if tag == "a"]
    assert REPORT in targets
    assert TIMELINE in targets
    text = (site / name).read_text("utf-8")
    assert "https://ui.perfetto.dev/#!/?url=" in text
    assert text.index(REPORT) < text.index("<h2")


def test_demo_files_contain_no_path_of_this_machine(site):
    report = (site / REPORT).read_text("utf-8")
    assert 'id="report"' in report
    assert len(report) < 6_000_000
    timeline = (site / TIMELINE).read_bytes()
    assert b"liger_cross_entropy_kernel" in timeline
    for written in (report.encode(), timeline):
        assert str(ROOT).encode() not in written
        assert b"kvtrace-demo-" not in written
