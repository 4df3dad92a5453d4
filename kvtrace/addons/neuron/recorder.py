"""What is kept of a run: sites with their counts, one row per executed op, buffers, findings.

A site is an op at a place of the program, reached through the same calls of the user's own
functions. Executing an op costs one tuple and a few additions; tables are made at the end.
"""

import dis
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron.findings import Finding
from kvtrace.addons.neuron.iterations import Iteration
from kvtrace.addons.neuron.memory import Life, Memory

#: Executed ops that are kept one by one; beyond it they are only counted.
ROWS_LIMIT: Final = 1_000_000

#: Tiles that are kept until the end where what they hold is wanted, and their bytes.
TILES_LIMIT: Final = 64
TILE_BYTES_LIMIT: Final = 256 << 20

_OWN: Final = str(Path(__file__).parent) + os.sep
#: Instructions that assign to a variable.
_STORES: Final = ("STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF")

#: Code by its identity (a code's own hash is that of all its constants), kept so that it stays, and
#: whether it is ours.
_own_code: dict[int, tuple[CodeType, bool]] = {}
#: What results of code are assigned to, by its identity.
_assigned: dict[int, tuple[CodeType, dict[int, str]]] = {}


class Execution(NamedTuple):
    """One executed op: counts are numbers of elements, bytes and floating-point operations.

    `written` and `read` are places among the recorder's buffers, -1 and () where there are none;
    `written_bytes` are those of the elements that were written there; `iteration` is the serial of
    the innermost loop's, 0 outside of all loops. Its place in the list is its order.
    """

    site: int
    program: int
    elements: int
    masked_off: int
    device_bytes: int
    chip_bytes: int
    flops: int
    written: int
    written_bytes: int
    read: tuple[int, ...]
    iteration: int


class AccessRow(NamedTuple):
    """One access to device memory by one executed op; offsets in bytes from the tensor's start.

    `iteration` is the trip of the innermost loop, `serial` that iteration's number in the run.
    `steps` are bytes from one lane to the next along each dimension of `shape`; empty where the
    lanes follow no steps.
    """

    site: int
    program: int
    iteration: int | None
    argument: str
    first: int
    last: int
    active: int
    shape: tuple[int, ...]
    steps: tuple[int, ...]
    serial: int


class Place(NamedTuple):
    """A line of the user's program; column counts from 1."""

    file: str
    line: int | None
    column: int | None
    function: str


class LoopSite:
    """A loop at a place of the program: how many trips its executions had.

    `name` is the variable that counts, `before` the number of sites when it first began: the first
    op that it may have inside.
    """

    __slots__ = ("before", "frames", "kind", "name", "parent", "trips")

    def __init__(
        self, kind: str, name: str, frames: tuple[Place, ...], parent: int, before: int
    ) -> None:
        self.kind = kind
        self.name = name
        self.before = before
        self.frames = frames
        self.parent = parent
        self.trips: list[int] = []


@dataclass(slots=True)
class Site:
    """An op at a place, and what its executions come to. `frames`: the innermost first.

    `name` is the variable that its result is assigned to.
    """

    op: str
    engine: str
    kind: str
    frames: tuple[Place, ...]
    loop: int
    name: str = ""
    dtype: str = ""
    argument: str = ""
    #: Whether where it goes depends on the contents of a tensor.
    from_data: bool = False
    executions: int = 0
    elements: int = 0
    masked_off: int = 0
    device_bytes: int = 0
    chip_bytes: int = 0
    flops: int = 0


class Recorder:
    """The record of one run. `bottom` is the code that calls the kernel: no frame from it down."""

    def __init__(self, bottom: CodeType, *, keeps_tiles: bool = False) -> None:
        self._bottom = bottom
        self._site_of: dict[tuple[object, ...], int] = {}
        self._touched: dict[tuple[int, int], NDArray[np.uint8]] = {}
        self._loop_of: dict[tuple[object, ...], int] = {}
        self._finding_of: dict[tuple[object, ...], Finding] = {}
        self.sites: list[Site] = []
        self.loops: list[LoopSite] = []
        self.rows: list[Execution] = []
        self.buffers: list[Life] = []
        self.accesses: list[AccessRow] = []
        #: Every iteration by its serial; 0 is outside of all loops.
        self.iterations = [Iteration(0, 0, False)]
        self.findings: list[Finding] = []
        self.keeps_tiles = keeps_tiles
        #: The first tiles of the first program by their numbers, where what they hold is wanted.
        self.tiles: dict[int, Memory] = {}
        #: Executed ops so far, also those beyond the limit.
        self.count = 0

    def site(self, op: str, engine: str, kind: str, loop: int) -> int:
        """Return the number of an op's site: that of the nearest frames of the user's."""
        key: list[object] = [op, engine, kind]
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            code = frame.f_code
            if code is self._bottom:
                break
            if not (_own_code.get(id(code)) or _looked_up(code))[1]:
                key += (id(code), frame.f_lasti)
            frame = frame.f_back
        known = self._site_of.get(identity := tuple(key))
        if known is None:
            known = self._site_of[identity] = len(self.sites)
            innermost = next(self._frames(), None)
            name = "" if innermost is None else assigned_name(innermost.f_code, innermost.f_lasti)
            self.sites.append(Site(op, engine, kind, self._places(), loop, name))
        return known

    def loop(self, kind: str, parent: int) -> int:
        """Return the number of a loop's site."""
        key = (kind, *((id(frame.f_code), frame.f_lasti) for frame in self._frames()))
        known = self._loop_of.get(key)
        if known is None:
            known = self._loop_of[key] = len(self.loops)
            counting = next(self._frames(), None)
            name = "" if counting is None else assigned_name(counting.f_code, counting.f_lasti)
            self.loops.append(LoopSite(kind, name, self._places(), parent, len(self.sites)))
        return known

    def execute(self, row: Execution) -> None:
        """Count an executed op, and keep it while there is room."""
        site = self.sites[row.site]
        site.executions += 1
        site.elements += row.elements
        site.masked_off += row.masked_off
        site.device_bytes += row.device_bytes
        site.chip_bytes += row.chip_bytes
        site.flops += row.flops
        self.count += 1
        if len(self.rows) < ROWS_LIMIT:
            self.rows.append(row)

    def touched(self, site: int, buffer: int, elements: int) -> NDArray[np.uint8]:
        """Return the elements of a buffer that a site has touched, one byte each, to be marked."""
        known = self._touched.get((site, buffer))
        if known is None:
            known = self._touched[site, buffer] = np.zeros(elements, np.uint8)
        return known

    def unique_bytes(self, site: int) -> int:
        """Return how many distinct bytes of device memory a site has touched."""
        return sum(
            int(np.count_nonzero(marks)) * self.buffers[buffer].bytes // max(marks.size, 1)
            for (number, buffer), marks in self._touched.items()
            if number == site
        )

    def access(self, row: AccessRow) -> None:
        """Keep an access to device memory, while there is room."""
        site = self.sites[row.site]
        site.argument = row.argument
        if len(self.accesses) < ROWS_LIMIT:
            self.accesses.append(row)

    def keep(self, tile: Memory) -> None:
        """Keep a tile beyond its use, if tiles are kept and there is room."""
        nbytes = sum(each.raw.size for each in self.tiles.values())
        if len(self.tiles) < TILES_LIMIT and nbytes + tile.raw.size <= TILE_BYTES_LIMIT:
            self.tiles[tile.number] = tile

    def settle(self, order: int, made: int, written: int) -> None:
        """Say that an executed op wrote another buffer than the new one that was made for it."""
        self.buffers[made].settled = True
        self.tiles.pop(made, None)
        if order < len(self.rows):
            self.rows[order] = self.rows[order]._replace(written=written)

    def find(self, finding: Finding) -> None:
        """Keep a finding; the same rule at the same place and argument is counted."""
        key = (finding.rule, finding.site, finding.argument, finding.access)
        known = self._finding_of.get(key)
        if known is None:
            self._finding_of[key] = finding
            self.findings.append(finding)
            return
        known.times += 1
        known.lanes += finding.lanes

    @staticmethod
    def raised_at(error: BaseException) -> Place | None:
        """Return the innermost line of the user's that an error came through."""
        found = None
        trace = error.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            if not code.co_filename.startswith(_OWN):
                found = _place(code, trace.tb_lasti)
            trace = trace.tb_next
        return found

    # -- frames -----------------------------------------------------------------------------

    def _frames(self) -> Iterator[FrameType]:
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            code = frame.f_code
            if code is self._bottom:
                return
            if not (_own_code.get(id(code)) or _looked_up(code))[1]:
                yield frame
            frame = frame.f_back

    def _places(self) -> tuple[Place, ...]:
        return tuple(_place(frame.f_code, frame.f_lasti) for frame in self._frames())


def _looked_up(code: CodeType) -> tuple[CodeType, bool]:
    found = _own_code[id(code)] = code, code.co_filename.startswith(_OWN)
    return found


def assigned_name(code: CodeType, instruction: int) -> str:
    """Return the variable that the result of the call at an instruction is assigned to, or ""."""
    kept = _assigned.get(id(code))
    if kept is None:
        kept = _assigned[id(code)] = code, _assigned_names(code)
    return kept[1].get(instruction, "")


def _assigned_names(code: CodeType) -> dict[int, str]:
    """Return what results are assigned to, by the offsets of what makes them, caches and all."""
    found = {}
    for made, stored in pairwise(dis.get_instructions(code)):
        if stored.opname.startswith(_STORES):
            name = stored.argval  # Python 3.13 and later join two instructions, with both names
            name = str(name[0] if isinstance(name, tuple) else name)
            found.update(dict.fromkeys(range(made.offset, stored.offset, 2), name))
    return found


def _place(code: CodeType, instruction: int) -> Place:
    position = next(islice(code.co_positions(), instruction // 2, None), None)
    line, column = (position[0], position[2]) if position else (None, None)
    return Place(
        code.co_filename,
        code.co_firstlineno if line is None else line,
        None if column is None else column + 1,
        code.co_qualname,
    )
