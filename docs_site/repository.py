"""Pages of the repository outside docs/, such as README.md, as pages of the site."""

import posixpath
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]

#: Files outside docs/ that the site has, and where.
PAGES: Final = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changes.md",
    "CODE_OF_CONDUCT.md": "project/conduct.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "LICENSE": "project/LICENSE.txt",
    "SECURITY.md": "project/security.md",
    "benchmarks/RESULTS.md": "project/figures.md",
    **{
        f"kvtrace/cli/schemas/{path.name}": f"reference/schemas/{path.name}"
        for path in sorted((ROOT / "kvtrace" / "cli" / "schemas").glob("*.json"))
    },
}
_IN_REPOSITORY: Final = {place: source for source, place in PAGES.items()}

#: Targets of Markdown links, and of the pictures in HTML; code is matched to be kept.
_TARGET: Final = re.compile(
    r"^```.*?^```|`[^`\n]+`|(?P<before>\]\(|src(?:set)?=\")(?P<path>[^)\"\s#]+)",
    re.MULTILINE | re.DOTALL,
)


def page_text(source: str) -> str:
    """Return the text of the repository's file at the path `source`."""
    return (ROOT / source).read_text(encoding="utf-8")


def with_parts(page: Path, parts: Mapping[str, str], until: str = r"\n\n") -> str:
    """Return a page's text with new parts, each after a comment that begins with its name.

    A part ends before what the pattern `until` matches, a blank line by default, or with the page.
    """
    text = page.read_text(encoding="utf-8")
    for name, part in parts.items():
        mark, old = rf"(<!-- {name}\b[^>]*-->\n\n)", rf".*?(?={until}|\n*\Z)"
        before, comment, rest = re.split(mark, text, maxsplit=1)
        text = before + comment + part + re.sub(old, "", rest, count=1, flags=re.DOTALL)
    return text


def with_site_links(markdown: str, place: str) -> str:
    """Return a page's Markdown with links that are right in the site.

    Args:
        markdown: The page, with links relative to its file in the repository.
        place: The page's path in the site, as `project/figures.md`.

    """
    folder = posixpath.dirname(_IN_REPOSITORY.get(place, f"docs/{place}"))

    def site_link(match: re.Match[str]) -> str:
        path = match["path"]
        if path is None or re.match(r"[a-z]+:", path):
            return match[0]
        target = posixpath.normpath(posixpath.join(folder, path))
        if target in PAGES:
            site_path = PAGES[target]
        elif target.startswith("docs/"):
            site_path = target.removeprefix("docs/")
        else:
            return match[0]  # mkdocs reports a missing target
        return match["before"] + posixpath.relpath(site_path, posixpath.dirname(place) or ".")

    return _TARGET.sub(site_link, markdown)


def with_bare_bars(markdown: str) -> str:
    """Return Markdown in which bars inside code in tables have no backslash, as the site requires.

    In the repository's Markdown a bar ends a cell unless a backslash precedes it.
    """
    return re.sub(
        r"^\|.*$",
        lambda row: re.sub(r"`[^`]+`", lambda code: code[0].replace("\\|", "|"), row[0]),
        markdown,
        flags=re.MULTILINE,
    )
