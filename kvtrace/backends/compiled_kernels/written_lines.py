"""Lines of the program that a kernel's code was generated from, as its comments say.

Helion (seen in 1.5) writes above a statement that it generates which of the program's it is from:
`# src[file.py:7]: out[tile] = x[tile] * 2`. Locations in such code become those of the program:
findings, figures and the report point at what was written. The comments have a file's name and no
folder: it is that of a module that is imported, and has that text in that line.
"""

import linecache
import re
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import triton

from kvtrace.backends.compiled_kernels.versions import definition
from kvtrace.capture.stacks import hide_frames_of
from kvtrace.ir.columns import column_shift

_MARK: Final = "# src["
_COMMENT: Final = re.compile(r"\s*# src\[([^\]:]+):(\d+)\]: (.*)")
_LOCATION: Final = re.compile(r'loc\("([^"\\]*)":(\d+):\d+')

#: A file, a line, and the column at which its statement begins, as the installed Triton counts.
Place = tuple[str, int, int]


def as_written(text: str, function: Any) -> str:
    """Return a kernel's IR whose locations are those of the program, where its code was generated.

    `function` is the jitted function, None for kernels that have none.
    """
    source = _generated_source(function)
    if source is None:
        return text
    file, first = definition(function)
    places = _places(file, source, first)
    # Triton's cache may have the IR from another file of the same text: the first place is the
    # function's own.
    begin = _LOCATION.search(text)
    generated = {file, begin[1]} if begin is not None and int(begin[2]) == first else {file}

    def moved(found: re.Match[str]) -> str:
        place = places.get(int(found[2])) if found[1] in generated else None
        return found[0] if place is None else 'loc("{}":{}:{}'.format(*place)

    return _LOCATION.sub(moved, text)


def hide_generator_of(function: Any) -> None:
    """Leave the generated file, and Helion's own, out of the stacks of launches."""
    if _generated_source(function) is None:
        return
    hide_frames_of(definition(function)[0])
    helion = getattr(sys.modules.get("helion"), "__file__", None)
    if helion is not None:
        hide_frames_of(str(Path(helion).parent))


def _generated_source(function: Any) -> str | None:
    source = getattr(function, "src", None)
    return source if isinstance(source, str) and _MARK in source else None


@lru_cache(maxsize=64)
def _places(file: str, source: str, first: int) -> Mapping[int, Place]:
    """Return the places in the program by line of the generated file, of which `source` is a part.

    The same text in another file may be of another program, so `file` is a part of the key. A run
    of comments is one statement on several lines, or a loop and what is in it.
    """
    del file
    found: dict[int, Place] = {}
    place: Place | None = None
    depth = 0
    for number, line in enumerate(source.splitlines(), first):
        comment = _COMMENT.fullmatch(line)
        if comment is None:
            depth = 0
            if place is not None and line.strip():
                found[number] = place
            continue
        if depth <= 0:
            place, depth = _place(comment[1], int(comment[2]), comment[3]), 0
        depth += sum(map(comment[3].count, "([{")) - sum(map(comment[3].count, ")]}"))
    return found


def _place(name: str, number: int, text: str) -> Place | None:
    for file in _files_named(name):
        line = linecache.getline(file, number)
        if line.strip() == text.strip() and '"' not in file and "\\" not in file:
            return (
                file,
                number,
                len(line) - len(line.lstrip()) + 1 - column_shift(triton.__version__),
            )
    return None


def _files_named(name: str) -> Iterator[str]:
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and Path(file).name == name:
            yield str(Path(file).absolute())
