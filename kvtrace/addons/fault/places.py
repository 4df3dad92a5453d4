"""The source line and the op of an instruction that failed.

The cubin's table for PTX leads to a line of PTX, and the `.loc` directive before that to the place
in the source, with its column and the calls that were inlined; see `kvtrace.ir.locations`. Without
recorded PTX, the cubin's table for the source has the line.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kvtrace.backends.compiled_kernels.elf import SectionTable
from kvtrace.ir import source_stack
from kvtrace.ir.locations import without_inner_places
from kvtrace.ir.ops import KINDS, MEMORY
from kvtrace.text import shown_path

if TYPE_CHECKING:
    from kvtrace.addons.fault.dump.sass import Effect
    from kvtrace.ir import Module, Op


# Line tables of cubins: which line an instruction came from.
#
# A cubin has two tables in DWARF 2's format: `.debug_line`, lines of source files, and
# `.nv_debug_line_sass`, lines of the PTX that the cubin was made from. Format: "Line Number
# Information" in the DWARF standard (https://dwarfstd.org/dwarf2std.html), section 6.2. `ptxas`
# writes version 2, with further extended opcodes for inlined functions, which are skipped.

_HEADER: Final = struct.Struct("<IHIBBbBB")
_LENGTH_BYTES: Final = 4
_VERSIONS: Final = (2, 3)
#: More rows than the table of any kernel has.
_MOST_ROWS: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the source: file, line from 1, and column from 1 if known.

    `file` is empty for lines of PTX. `callers` has line and column of each call that was inlined,
    the innermost first.
    """

    file: str
    line: int
    column: int | None = None
    callers: tuple[tuple[int, int], ...] = ()


class LineTable:
    """The lines of instructions by address."""

    def __init__(self, content: bytes) -> None:
        """Read the content of a section.

        Raises:
            ValueError: It is not a table of DWARF 2 or 3.
            struct.error, IndexError: It is cut off.
        """
        rows: list[tuple[int, Place | None]] = []
        position = 0
        while position + _HEADER.size <= len(content):
            (length,) = struct.unpack_from("<I", content, position)
            end = position + _LENGTH_BYTES + length
            if end > len(content):
                raise ValueError("a line table is longer than its section")
            _Program(content[position:end]).run(rows)
            position = end
        rows.sort(key=lambda row: row[0])
        self._addresses = [address for address, _ in rows]
        self._lines = [line for _, line in rows]

    def at(self, address: int) -> Place | None:
        """Return the line of the instruction at an address; None outside of the table."""
        index = bisect_right(self._addresses, address) - 1
        return self._lines[index] if index >= 0 else None


class _Program:
    """One line number program: bytes that a small machine runs to write the table's rows."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        _, version, header_bytes, self._step, _, self._base, self._range, count = (
            _HEADER.unpack_from(content)
        )
        if version not in _VERSIONS:
            raise ValueError(f"a line table has version {version}")
        if self._range == 0 or count == 0:
            raise ValueError("a line table has no opcodes")
        self._at = _HEADER.size
        self._operands = [0, *content[self._at : self._at + count - 1]]
        self._at += count - 1
        folders = ["", *self._texts()]
        self._files = [""]
        while name := self._text():
            folder = self._number()
            self._number()  # time of the last change
            self._number()  # size
            parent = folders[folder] if folder < len(folders) else ""
            is_within = parent and not name.startswith("/")
            self._files.append(f"{parent.rstrip('/')}/{name}" if is_within else name)
        self._at = _LENGTH_BYTES + 2 + 4 + header_bytes

    def run(self, rows: list[tuple[int, Place | None]]) -> None:
        """Append the rows: addresses and the line from there on; None at an end."""
        address, file, line = 0, 1, 1
        while self._at < len(self._content):
            opcode = self._byte()
            if opcode >= len(self._operands):
                advance, change = divmod(opcode - len(self._operands), self._range)
                address += advance * self._step
                line += self._base + change
                self._append(rows, address, file, line)
            elif opcode == 0:
                end = self._number() + self._at
                extended = self._byte()
                if extended == 1:  # DW_LNE_end_sequence
                    rows.append((address, None))
                    address, file, line = 0, 1, 1
                elif extended == 2:  # DW_LNE_set_address
                    (address,) = struct.unpack_from("<Q", self._content, self._at)
                self._at = end
            elif opcode == 1:  # DW_LNS_copy
                self._append(rows, address, file, line)
            elif opcode == 2:  # DW_LNS_advance_pc
                address += self._number() * self._step
            elif opcode == 3:  # DW_LNS_advance_line
                line += self._signed()
            elif opcode == 4:  # DW_LNS_set_file
                file = self._number()
            elif opcode == 8:  # DW_LNS_const_add_pc
                address += (255 - len(self._operands)) // self._range * self._step
            elif opcode == 9:  # DW_LNS_fixed_advance_pc
                (advance,) = struct.unpack_from("<H", self._content, self._at)
                address += advance
                self._at += 2
            else:  # columns, statements and blocks are not of use here
                for _ in range(self._operands[opcode]):
                    self._number()

    def _append(
        self, rows: list[tuple[int, Place | None]], address: int, file: int, line: int
    ) -> None:
        if len(rows) >= _MOST_ROWS:
            raise ValueError("a line table has too many rows")
        name = self._files[file] if file < len(self._files) else ""
        rows.append((address, Place(name, line)))

    def _byte(self) -> int:
        self._at += 1
        return self._content[self._at - 1]

    def _number(self) -> int:
        """Read an unsigned number of 7 bits a byte (LEB128)."""
        number = shift = 0
        while True:
            byte = self._byte()
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number
            if shift > 63:
                raise ValueError("a number in a line table does not end")

    def _signed(self) -> int:
        start = self._at
        number = self._number()
        bits = 7 * (self._at - start)
        return number - (1 << bits) if number >> (bits - 1) else number

    def _text(self) -> str:
        end = self._content.index(b"\0", self._at)
        text = self._content[self._at : end].decode(errors="replace")
        self._at = end + 1
        return text

    def _texts(self) -> list[str]:
        found = []
        while text := self._text():
            found.append(text)
        return found


_DIRECTIVE: Final = re.compile(r"^\s*\.loc\s+\d+\s+(\d+)\s+(\d+)(.*)$")
_ASSERT: Final = "tt.assert"
#: A place in a comment of LLVM's: `file.py:15:23 @[ file.py:20:21 ]`.
_PLACE: Final = re.compile(r":(\d+):(\d+)")


def short_path(file: str) -> str:
    """Return a path relative to the working directory, if the file is in it."""
    return shown_path(file, str(Path.cwd()))


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
    if source is None or ptx is None or of_ptx is None:
        return source
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
    return source


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
