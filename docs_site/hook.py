"""Hooks that mkdocs calls during a build: they add generated pages, and adapt links and tables."""

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
    """Add generated pages and the demo to `files`; list each folder's pages in the navigation."""
    pages = {
        site_path: repository.page_text(source) for source, site_path in repository.PAGES.items()
    }
    pages |= commands.command_pages() | {python_api.PLACE: python_api.python_page()}
    for site_path, text in pages.items():
        files.append(File.generated(config, site_path, content=text))
    for site_path, content in demo.demo_files().items():
        files.append(File.generated(config, site_path, content=content))
    config.nav = _expanded_navigation(config.nav, [f.src_uri for f in files.documentation_pages()])
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Return a page's Markdown with the site's links, the demo, and bare bars in tables."""
    text = repository.with_site_links(markdown, page.file.src_uri)
    up = "../" * page.file.src_uri.count("/")
    return demo.with_demo_links(repository.with_bare_bars(text), up)


def _expanded_navigation(entry: Any, pages: list[str]) -> Any:
    """Return a navigation with each folder, as `rules/`, replaced by its pages, the index first."""
    if isinstance(entry, list):
        return [_expanded_navigation(child, pages) for child in entry]
    if isinstance(entry, dict):
        return {title: _expanded_navigation(child, pages) for title, child in entry.items()}
    if not entry.endswith("/"):
        return entry
    folder_pages = [page for page in pages if page.startswith(entry)]
    return sorted(folder_pages, key=lambda page: (posixpath.basename(page) not in _INDICES, page))


_INDICES = ("index.md", "README.md")
