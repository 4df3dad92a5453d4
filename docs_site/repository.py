"""Pages of the repository that lie outside docs/, as pages of the site, with links that fit."""

import posixpath
import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]

#: Files outside docs/ that the site has, and where.
PAGES: Final = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changes.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "LICENSE": "project/LICENSE.txt",
    "SECURITY.md": "project/security.md",
    "benchmarks/RESULTS.md": "project/figures.md",
}
_IN_REPOSITORY: Final = {place: source for source, place in PAGES.items()}

#: Targets of Markdown links, and of the pictures in HTML; code is matched to be kept.
_TARGET: Final = re.compile(
    r"^```.*?^```|`[^`\n]+`|(?P<before>\]\(|src(?:set)?=\")(?P<path>[^)\"\s#]+)",
    re.MULTILINE | re.DOTALL,
)


def page_text(source: str) -> str:
    """Return the Markdown of a file of the repository."""
    return (ROOT / source).read_text(encoding="utf-8")


def with_links_of_the_site(markdown: str, place: str) -> str:
    """Return a page's text with links as they are at its place in the site.

    Args:
        markdown: The text, whose links are as in the repository.
        place: The page in the site, as `project/figures.md`.

    """
    folder = posixpath.dirname(_IN_REPOSITORY.get(place, f"docs/{place}"))

    def moved(found: re.Match[str]) -> str:
        path = found["path"]
        if path is None or re.match(r"[a-z]+:", path):
            return found[0]
        target = posixpath.normpath(posixpath.join(folder, path))
        if target in PAGES:
            new = PAGES[target]
        elif target.startswith("docs/"):
            new = target.removeprefix("docs/")
        else:
            return found[0]  # mkdocs says that there is none
        return found["before"] + posixpath.relpath(new, posixpath.dirname(place) or ".")

    return _TARGET.sub(moved, markdown)


def with_bars_in_tables(markdown: str) -> str:
    """Return a page's text with bars in code of tables bare, as Python's Markdown wants them.

    Where the repository is read, a bar ends a cell unless a backslash precedes it.
    """
    return re.sub(
        r"^\|.*$",
        lambda row: re.sub(r"`[^`]+`", lambda code: code[0].replace("\\|", "|"), row[0]),
        markdown,
        flags=re.MULTILINE,
    )
