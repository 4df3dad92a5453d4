"""Generator of the index of the rules' pages: `python -m docs_site.rules_index`."""

from typing import Final

from docs_site.repository import ROOT, with_parts
from kvtrace.verdicts.rules.table import KERNEL_RULES, RULES

FOLDER: Final = ROOT / "docs" / "rules"
INDEX: Final = FOLDER / "README.md"


def index_text() -> str:
    """Return the text of docs/rules/README.md, with one table row per rule."""
    rules = [*RULES.values(), *KERNEL_RULES.values()]
    rows = [
        f"| [{rule.id}]({rule.id}.md) | {rule.severity} | {'yes' if rule.default else 'no'} "
        f"| {rule.summary} |"
        for rule in rules
    ]
    head = ["| rule | severity | by default | what it finds |", "|---|---|---|---|"]
    return with_parts(INDEX, {"rules": "\n".join((*head, *rows))})


if __name__ == "__main__":
    INDEX.write_text(index_text(), encoding="utf-8")
    print(f"wrote {INDEX.name}")
