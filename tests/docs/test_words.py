"""Pages, messages, docstrings and comments use none of the phrases in phrases.txt.

CONTRIBUTING has the rules.
"""

import os
import re
from itertools import chain
from pathlib import Path
from typing import Final

import pytest

from tests.docs.pages import ROOT
from tests.docs.texts import python_files, texts

#: Pages that are checked.
GLOBS: Final = ("*.md", "docs/**/*.md", "benchmarks/*.md")
#: Pages that are not checked, and why.
EXCEPTIONS: Final = {
    "CHANGELOG.md": "what a release said stays",
}
#: Code whose messages, docstrings and comments are checked.
ROOMS: Final = ("kvtrace", "schema", "converters", "docs_site", "benchmarks", "examples")
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


PHRASES: Final = phrases()


def literal(phrase: str) -> str:
    """Return letters that each match of a pattern has, to look for first; empty if not known."""
    plain = re.sub(r"\([^()]*\)[?*]?|\[[^\]]*\][?*+]?|\\\w|.[?*]", " ", phrase)
    return "" if "|" in plain else max(re.findall("[a-z]+", plain), key=len, default="")


LITERALS: Final = [literal(phrase.pattern) for phrase, _ in PHRASES]


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
        for phrase, instead in PHRASES
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


def test_code_uses_no_phrase_of_the_list():
    # kvtrace/schema and kvtrace/converters are links to the other two rooms
    paths = python_files(*(ROOT / room for room in ROOMS))
    assert [found for path in paths for found in _found_in_code(path)] == []


def _found_in_code(path: Path) -> list[tuple[str, str]]:
    """Return each phrase in a file's texts: their kind, and where it is."""
    source = path.read_text(encoding="utf-8")
    letters = source.lower()
    if not any(
        some in letters and phrase.search(source)
        for some, (phrase, _) in zip(LITERALS, PHRASES, strict=True)
    ):
        return []
    found = []
    for text in texts(source):
        if text.kind == "string" and " " not in text.text:
            continue  # a name, not a message
        prose_of = re.sub("`[^`]*`", ".", text.text) if text.kind != "string" else text.text
        for phrase, instead in PHRASES:
            for match in phrase.finditer(prose_of):
                place = f"{path.relative_to(ROOT)}:{text.line}"
                found.append((text.kind, f"{place}: {match[0]!r}, write: {instead}"))
    return found


@pytest.mark.parametrize("kinds", [("c", "h"), ("ts", "tsx", "css")], ids=["C", "the page"])
def test_comments_outside_python_use_no_phrase_of_the_list(kinds):
    paths = [
        path
        for folder, _, names in chain.from_iterable(os.walk(ROOT / room) for room in ROOMS)
        if "node_modules" not in folder
        for path in (Path(folder, name) for name in names)
        if path.suffix[1:] in kinds
    ]
    found = {
        str(path.relative_to(ROOT)): found_in(_comments_of_c(path.read_text(encoding="utf-8")))
        for path in paths
    }
    assert len(paths) > 1
    assert {path: each for path, each in found.items() if each} == {}


def _comments_of_c(source: str) -> str:
    """Return the comments of a C, TypeScript or CSS file, each word on its line.

    " * " begins a line of a comment.
    """
    kept, end = [], 0
    for comment in re.finditer(r"/\*.*?\*/|//[^\n]*", source, re.DOTALL):
        kept.append("\n" * source.count("\n", end, comment.start()))
        kept.append(re.sub(r"\n *\*", "\n", comment[0]))
        end = comment.end()
    return " ".join(kept)


def test_a_phrase_is_found_in_a_comment_of_c():
    source = "int told;\n/* Who is\n * told; `is told` */\nint n; // who hears\n"
    found = [line.partition(",")[0] for line in found_in(_comments_of_c(source))]
    assert found == ["3: 'told'", "4: 'hears'"]


def test_a_phrase_is_found_in_each_kind_of_text(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.docs.test_words.ROOT", tmp_path)
    path = tmp_path / "code.py"
    path.write_text(
        '"""Who is told."""\n\nX = 1  # begins\n# anew\n\n\ndef f(x):\n'
        '    """Rests\n    on `x`, which is told."""\n    raise ValueError(f"{x} is no number")\n'
    )
    kinds = [(kind, line.split(",")[0].split(": ")[1]) for kind, line in _found_in_code(path)]
    assert sorted(kinds) == [
        ("comment", "'anew'"),
        ("docstring", "'Rests\\n    on'"),
        ("docstring", "'told'"),
        ("docstring", "'told'"),
        ("string", "'is no '"),
    ]


@pytest.mark.parametrize(
    ("phrase", "letters"),
    [
        (r"\btold\b", "told"), (r"\brests?\s+on\b", "rest"), (r"\b(is|are)\s+said\b", "said"),
        (r"\b(stands?|stood)\b", ""), (r"\btold\b|\bsaid\b", ""), ("[Nn]ot x+", "ot"),
    ],
)  # fmt: skip
def test_letters_of_a_phrase_are_in_each_match(phrase, letters):
    assert literal(phrase) == letters


def test_a_phrase_is_found_in_prose_alone():
    text = "The reader is\ntold.\n\n```console\nis told\n```\n`is told`, [x](is-told.md).\n"
    assert [line.partition(",")[0] for line in found_in(text)] == ["2: 'told'"]
