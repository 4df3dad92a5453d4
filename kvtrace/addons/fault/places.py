"""The source line and the op of an instruction that failed.

The cubin's table for PTX leads to a line of PTX, and the `.loc` directive before that to the place
in the source, with its column and the calls that were inlined; see `kvtrace.ir.locations`. Without
recorded PTX, the cubin's table for the source has the line.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kvtrace.addons.fault.dump.line_table import LineTable
from kvtrace.backends.compiled_kernels.elf import SectionTable
from kvtrace.ir import source_stack
from kvtrace.ir.locations import without_inner_places
from kvtrace.ir.ops import KINDS, MEMORY

if TYPE_CHECKING:
    from kvtrace.addons.fault.dump.sass import Effect
    from kvtrace.ir import Module, Op

_DIRECTIVE: Final = re.compile(r"^\s*\.loc\s+\d+\s+(\d+)\s+(\d+)(.*)$")
_ASSERT: Final = "tt.assert"
#: A place in a comment of LLVM's: `file.py:15:23 @[ file.py:20:21 ]`.
_PLACE: Final = re.compile(r":(\d+):(\d+)")


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the source: file, line from 1, and column from 1 if known.

    `callers` has line and column of each call that was inlined, the innermost first.
    """

    file: str
    line: int
    column: int | None = None
    callers: tuple[tuple[int, int], ...] = ()


def short_path(file: str) -> str:
    """Return a path relative to the working directory, if the file is in it."""
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except ValueError:
        return file


def place_of(image: bytes, address: int, ptx: str | None) -> Place | None:
    """Return the place in the source of the instruction at an address of a loaded module.

    None if the module has no line table, or one that cannot be read.
    """
    try:
        sections = {one.name: bytes(one.content) for one in SectionTable(image)}
        source = LineTable(sections.get(".debug_line", b"")).at(address)
        of_ptx = LineTable(sections.get(".nv_debug_line_sass", b"")).at(address)
    except (ValueError, IndexError, struct.error):
        return None
    if source is None:
        return None
    if ptx is None or of_ptx is None:
        return Place(source.file, source.line)
    lines = without_inner_places(ptx).split("\n")
    for text in reversed(lines[: of_ptx.line]):
        directive = _DIRECTIVE.match(text)
        if directive is None:
            continue
        if int(directive[1]) != source.line:
            break
        callers = _PLACE.findall(directive[3])[1:]
        return Place(
            source.file,
            source.line,
            int(directive[2]) + 1,  # LLVM counts from 0 here
            tuple((int(line), int(column) + 1) for line, column in callers),
        )
    return Place(source.file, source.line)


def ops_at(module: Module, place: Place, effect: Effect | None) -> list[Op]:
    """Return the memory ops at a place that have the effect; those that fit best.

    Without an effect, memory ops and assertions. An op fits best if its column and all its callers'
    lines are those of the place.
    """
    scored = []
    for op in module.ops:
        if op.name not in MEMORY and (op.name != _ASSERT or effect is not None):
            continue
        if effect is not None and KINDS[op.name].effect != effect:
            continue
        stack = source_stack(op)
        if not stack or stack[0].line != place.line:
            continue
        callers = [frame.line for frame in stack[1:]]
        is_called_there = callers == [line for line, _ in place.callers]
        is_same_column = place.column is not None and abs(stack[0].column - place.column) <= 1
        scored.append((is_same_column + is_called_there, op))
    best = max((score for score, _ in scored), default=0)
    return [op for score, op in scored if score == best]
