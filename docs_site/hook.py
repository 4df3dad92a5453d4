"""What mkdocs calls while it builds: adds generated pages and the demo, and fixes links."""

import posixpath
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from docs_site import commands, demo, python_api, repository


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add pages of the repository and those made from code, and list folders of the navigation."""
    made = {place: repository.page_text(source) for source, place in repository.PAGES.items()}
    made |= commands.command_pages() | {python_api.PLACE: python_api.python_page()}
    for place, text in made.items():
        files.append(File.generated(config, place, content=text))
    for place, content in demo.demo_files().items():
        files.append(File.generated(config, place, content=content))
    config.nav = _with_folders_listed(config.nav, [f.src_uri for f in files.documentation_pages()])
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Give a page's links as they are in the site, and its tables as this Markdown has them."""
    text = repository.with_links_of_the_site(markdown, page.file.src_uri)
    up = "../" * page.file.src_uri.count("/")
    return demo.with_demo(repository.with_bars_in_tables(text), up)


def _with_folders_listed(entry: Any, pages: list[str]) -> Any:
    """Return a navigation in which `rules/` represents the pages in there, the index first."""
    if isinstance(entry, list):
        return [_with_folders_listed(each, pages) for each in entry]
    if isinstance(entry, dict):
        return {title: _with_folders_listed(each, pages) for title, each in entry.items()}
    if not entry.endswith("/"):
        return entry
    inside = [page for page in pages if page.startswith(entry)]
    return sorted(inside, key=lambda page: (posixpath.basename(page) not in _INDICES, page))


_INDICES = ("index.md", "README.md")
