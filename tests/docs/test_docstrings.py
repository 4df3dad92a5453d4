"""Public functions have docstrings, and those with many parameters describe them.

Many is four, without self. Shapes, dtypes and units are in Args where a type does not give them.
`python -m tests.docs.test_docstrings [FOLDER]` lists the functions that lack either.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from tests.docs.pages import ROOT
from tests.docs.texts import python_files, undocumented, without_args

ROOMS: Final = ("kvtrace", "schema", "converters")
#: How many functions with four parameters and more have no Args; it only falls.
WITHOUT_ARGS: Final = 444

Finder = Callable[[str], Iterator[tuple[int, str]]]


def _found(finder: Finder, *folders: str) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in python_files(*(ROOT / folder for folder in folders))
        for line, name in finder(path.read_text(encoding="utf-8"))
    ]


def test_public_functions_have_docstrings():
    assert _found(undocumented, *ROOMS) == []


def test_no_more_functions_lack_args():
    assert len(_found(without_args, *ROOMS)) <= WITHOUT_ARGS


def test_functions_that_lack_something_are_found():
    source = (
        "def bare(a, b, c, d): ...\ndef _own(a): ...\nclass Public:\n"
        '    def method(self, a, b, *, c, d):\n        """Do.\n\n        Args:\n'
        '            a: one.\n        """\n    def few(self, a, b, c):\n        """Do."""\n'
    )
    assert list(undocumented(source)) == [(1, "bare")]
    assert list(without_args(source)) == [(1, "bare")]


if __name__ == "__main__":
    chosen = tuple(str(Path(folder)) for folder in sys.argv[1:]) or ROOMS
    for title, finder in (("no docstring", undocumented), ("no Args", without_args)):
        print(f"{title}:", *_found(finder, *chosen), sep="\n  ")
