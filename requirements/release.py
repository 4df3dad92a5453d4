"""Check that a tag is of the release that the tree is, and print what CHANGELOG.md says of it.

    python requirements/release.py v0.4.0

Ends with 1, and says why, where the tag, `kvtrace.__version__` and the newest section of
CHANGELOG.md differ, or entries in news/ were not collected.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def version() -> str:
    """The one place where it stands; read, so that nothing need be installed."""
    text = (ROOT / "kvtrace" / "version.py").read_text(encoding="utf-8")
    (found,) = re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    return str(found)


def newest_section() -> tuple[str, str]:
    """Version and text of the newest section that is of a release."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    _, name, rest = re.split(r"^## ([\d.]+) \(\d{4}-\d\d-\d\d\)$", text, maxsplit=1, flags=re.M)
    return name, re.split(r"^## ", rest, maxsplit=1, flags=re.M)[0].strip()


def uncollected_entries() -> list[str]:
    """Return the names of the changelog's entries that are still files of their own."""
    return sorted(path.name for path in (ROOT / "news").glob("*.*.md"))


def main(tag: str) -> int:
    """Compare, and print the notes."""
    section, notes = newest_section()
    if not tag == f"v{version()}" == f"v{section}":
        print(
            f"the tag is {tag}, kvtrace.__version__ {version()}, CHANGELOG.md's newest {section}",
            file=sys.stderr,
        )
        return 1
    if names := uncollected_entries():
        print(f"news/ has entries; run `towncrier build`: {', '.join(names)}", file=sys.stderr)
        return 1
    print(notes)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2] or [""]))
