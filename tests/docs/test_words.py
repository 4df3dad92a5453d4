"""Pages use plain English: none of the phrases in phrases.txt. CONTRIBUTING has the rules."""

import re
from pathlib import Path
from typing import Final

import pytest

from tests.docs.pages import ROOT

#: What is checked; docstrings and messages can join by one more pattern.
GLOBS: Final = ("*.md", "docs/**/*.md")
#: Pages that are not checked, and why.
EXCEPTIONS: Final = {
    "CHANGELOG.md": "what a release said stays",
}
PAGES: Final = sorted({path for pattern in GLOBS for path in ROOT.glob(pattern)})

#: Code, outputs, addresses of links and comments are not prose.
_FENCE: Final = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_NOT_PROSE: Final = re.compile(r"`[^`]*`|(?<=\])\([^)]*\)|<!--.*?-->", re.DOTALL)


def phrases() -> list[tuple[re.Pattern[str], str]]:
    """Return each phrase, and what to write instead; a space matches any white space."""
    lines = (Path(__file__).parent / "phrases.txt").read_text(encoding="utf-8").splitlines()
    parts = (line.rpartition(" = ") for line in lines if line and not line.startswith("#"))
    return [
        (re.compile(phrase.strip().replace(" ", r"\s+"), re.IGNORECASE), instead.strip())
        for phrase, _, instead in parts
    ]


def prose(markdown: str) -> str:
    """Return a page's text with everything else blank, so that lines keep their numbers."""
    for pattern in (_FENCE, _NOT_PROSE):
        markdown = pattern.sub(lambda found: "." + "\n" * found[0].count("\n"), markdown)
    return markdown


def found_in(markdown: str) -> list[str]:
    """Return each phrase in a text: its line, the words, and what to write instead."""
    text = prose(markdown)
    return [
        f"{text.count(chr(10), 0, match.start()) + 1}: {match[0]!r}, write: {instead}"
        for phrase, instead in phrases()
        for match in phrase.finditer(text)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_uses_no_phrase_of_the_list(page):
    name = str(page.relative_to(ROOT))
    if name in EXCEPTIONS:
        pytest.skip(EXCEPTIONS[name])
    assert found_in(page.read_text(encoding="utf-8")) == []


def test_an_exception_is_a_page_that_needs_it():
    needing = {name for name in EXCEPTIONS if found_in((ROOT / name).read_text(encoding="utf-8"))}
    assert needing == EXCEPTIONS.keys()


def test_a_phrase_is_found_in_prose_alone():
    text = "The reader is\ntold.\n\n```console\nis told\n```\n`is told`, [x](is-told.md).\n"
    assert [line.partition(",")[0] for line in found_in(text)] == ["2: 'told'"]
