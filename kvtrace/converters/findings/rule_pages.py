"""The pages of docs/rules as an installed kvtrace has them, for what shows a rule's help.

    python -m kvtrace.converters.findings.rule_pages

writes them anew from a checkout (`make docs`); a test fails where they are not the same.
"""

import json
import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

_FILE: Final = "rule_pages.json"
#: A link to another page, which is not there where the help is shown.
_LINK: Final = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)]*\)")


@cache
def rule_pages() -> dict[str, str]:
    """Return each rule's page as Markdown, without its title and without links to others."""
    text = files(__package__).joinpath(_FILE).read_text(encoding="utf-8")
    pages: dict[str, str] = json.loads(text)
    return pages


def pages_of(folder: Path) -> dict[str, str]:
    """Return the pages that a folder has, as `rule_pages` does."""
    pages = {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md"))}
    return {
        rule: _LINK.sub(r"\1", text.partition("\n")[2].strip())
        for rule, text in pages.items()
        if rule != "README"
    }


def main() -> None:
    """Write the file from docs/rules of the checkout that this module is in."""
    pages = pages_of(Path(__file__).resolve().parents[3] / "docs" / "rules")
    text = json.dumps(pages, indent=1, ensure_ascii=False) + "\n"
    Path(__file__).with_name(_FILE).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
