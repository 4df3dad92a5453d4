"""Program lines from which a kernel's code was generated, read from comments in the code.

Helion (seen in 1.5) writes above a generated statement the line of the program that it comes from:
`# src[file.py:7]: out[tile] = x[tile] * 2`. Locations in such code are replaced by those of the
program, so that findings, figures and the report point at the user's code. The comments name a file
without its folder: the file is that of an imported module with that text in that line.
"""

import linecache
import re
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from kvtrace.backends.compiled_kernels.versions import definition
from kvtrace.capture.stacks import hide_frames_of
from kvtrace.ir.locations import column_shift

_MARK: Final = "# src["
_COMMENT: Final = re.compile(r"\s*# src\[([^\]:]+):(\d+)\]: (.*)")
_LOCATION: Final = re.compile(r'loc\("([^"\\]*)":(\d+):\d+')

#: A file, a line, and the column at which its statement begins, as the installed Triton counts.
Location = tuple[str, int, int]


def with_program_locations(text: str, function: Any) -> str:
    """Return a kernel's IR with locations in generated code replaced by the program's.

    `function` is the jitted function, None for a kernel without one.
    """
    source = _generated_source(function)
    if source is None:
        return text
    file, first_line = definition(function)
    locations = _locations(file, source, first_line)
    # Triton's cache may have the IR from another file of the same text: the first location is
    # the function's.
    begin = _LOCATION.search(text)
    generated = {file, begin[1]} if begin is not None and int(begin[2]) == first_line else {file}

    def replacement(match: re.Match[str]) -> str:
        location = locations.get(int(match[2])) if match[1] in generated else None
        return match[0] if location is None else 'loc("{}":{}:{}'.format(*location)

    return _LOCATION.sub(replacement, text)


def hide_generator_of(function: Any) -> None:
    """If a function is generated, leave frames of its file and of Helion out of stacks."""
    if _generated_source(function) is None:
        return
    hide_frames_of(definition(function)[0])
    helion = getattr(sys.modules.get("helion"), "__file__", None)
    if helion is not None:
        hide_frames_of(str(Path(helion).parent))


def _generated_source(function: Any) -> str | None:
    if getattr(function, "fn", None) is None:
        return None  # also a kernel from torch.compile's cache, which Helion has none of
    source = getattr(function, "src", None)
    return source if isinstance(source, str) and _MARK in source else None


@lru_cache(maxsize=64)
def _locations(file: str, source: str, first: int) -> Mapping[int, Location]:
    """Return the program's location for each line number of a generated function.

    `source` is the function's text, which begins at the line `first` of `file`. The file is only
    part of the cache's key, since equal texts in two files may belong to two programs. Adjacent
    comments are one statement on several lines, or a loop and its body.
    """
    del file
    locations: dict[int, Location] = {}
    location: Location | None = None
    depth = 0
    for line_number, line in enumerate(source.splitlines(), first):
        comment = _COMMENT.fullmatch(line)
        if comment is None:
            depth = 0
            if location is not None and line.strip():
                locations[line_number] = location
            continue
        if depth <= 0:
            location, depth = _location_of(comment[1], int(comment[2]), comment[3]), 0
        depth += sum(map(comment[3].count, "([{")) - sum(map(comment[3].count, ")]}"))
    return locations


def _location_of(name: str, number: int, text: str) -> Location | None:
    import triton  # not where a trace is only completed or compared

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
