"""Generator of `rule_pages.json`, the help on rules: `python -m docs_site.rules` (`make docs`)."""

import json
import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
FILE: Final = ROOT / "kvtrace" / "converters" / "findings" / "rule_pages.json"
#: A link to another page, which is not there where the help is shown; not a launch in an example.
_LINK: Final = re.compile(r"(```.*?```)|\[([^\]]+)\]\((?!https?:)[^)]*\)", re.DOTALL)

#: What is left of the link to the index, which is not there either.
_COMMENTS: Final = " (how comments count)"


def pages_of(folder: Path) -> dict[str, str]:
    """Return the pages in a folder by rule, without title and links to other pages."""
    pages = {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md"))}
    return {
        rule: _LINK.sub(r"\1\2", text.partition("\n")[2].strip()).replace(_COMMENTS, "")
        + _for_all_kernels(rule)
        for rule, text in pages.items()
        if rule != "README"
    }


def _for_all_kernels(rule: str) -> str:
    """Return what the index of the pages, which is not there, says about all rules."""
    return (
        f"\n\nFor all kernels of a run: `kvtrace sanitize --no-rule {rule}`, or "
        f"`KVTRACE_RULES=-{rule}`."
    )


if __name__ == "__main__":
    text = json.dumps(pages_of(ROOT / "docs" / "rules"), indent=1, ensure_ascii=False) + "\n"
    FILE.write_text(text, encoding="utf-8")
    print(f"wrote {FILE.name}")
