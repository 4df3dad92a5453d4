"""The pages of docs/rules as an installed kvtrace has them, for what shows a rule's help.

`docs_site/rules.py` writes them (`make docs`); a test fails where they are not the same.
"""

import json
from functools import cache
from importlib.resources import files
from typing import Final

_FILE: Final = "rule_pages.json"


@cache
def rule_pages() -> dict[str, str]:
    """Return each rule's page as Markdown, without its title and without links to others."""
    text = files(__package__).joinpath(_FILE).read_text(encoding="utf-8")
    pages: dict[str, str] = json.loads(text)
    return pages
