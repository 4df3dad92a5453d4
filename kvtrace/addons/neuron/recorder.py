"""The record of a run: sites with counts, executed ops, buffers and findings.

A site is an op at a position in the program, reached by the same chain of calls of the user's own
functions. Recording an execution costs one tuple and a few additions; tables are made at the end.
"""

import dis
import os
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Final, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from kvtrace.addons.neuron.findings import Finding
from kvtrace.addons.neuron.memory import BufferLife
from kvtrace.capture.records import Frame
from kvtrace.capture.stacks import frame_of

#: Maximum number of executed ops to keep one by one; further ones are only counted.
ROWS_LIMIT: Final = 1_000_000

_FOLDER: Final = str(Path(__file__).parent) + os.sep
#: Instructions that assign to a variable.
_STORES: Final = ("STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF")

#: id(code) → the code, and whether this package defines it. `hash(code)` would hash all constants;
#: the reference to the code keeps its id from being reused.
_package_code: dict[int, tuple[CodeType, bool]] = {}
#: id(code) → the code, and instruction offset → variable that the instruction's result is assigned
#: to.
_assignments: dict[int, tuple[CodeType, dict[int, str]]] = {}


class Execution(NamedTuple):
    """One executed op: counts are numbers of elements, bytes and floating-point operations.

    `written` and `read` are indices of the recorder's buffers, -1 and () if there are none;
    `written_bytes` counts the written elements. The index in the list of executions is the op's
    order.
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


class LoopSite(Struct):
    """A loop at a position in the program, with the trip counts of its executions."""

    frames: tuple[Frame, ...]
    trips: list[int] = []


class Site(Struct):
    """An op at a position in the program, with sums over its executions.

    `frames` begin with the innermost; `name` is the variable that the result is assigned to, `loop`
    the site of the innermost loop (-1: none).
    """

    op: str
    engine: str
    kind: str
    frames: tuple[Frame, ...]
    loop: int
    name: str = ""
    dtype: str = ""
    argument: str = ""
    #: Addresses of the accesses depend on the contents of a tensor.
    from_data: bool = False
    executions: int = 0
    elements: int = 0
    masked_off: int = 0
    device_bytes: int = 0
    chip_bytes: int = 0
    flops: int = 0


class Recorder:
    """The record of one run; recorded stacks end above the frame of the code `bottom`."""

    def __init__(self, bottom: CodeType) -> None:
        self._bottom = bottom
        self._site_of: dict[tuple[object, ...], int] = {}
        self._touched: dict[tuple[int, int], NDArray[np.uint8]] = {}
        self._loop_of: dict[tuple[object, ...], int] = {}
        self._finding_of: dict[tuple[object, ...], Finding] = {}
        self.sites: list[Site] = []
        self.loops: list[LoopSite] = []
        self.rows: list[Execution] = []
        self.buffers: list[BufferLife] = []
        self.findings: list[Finding] = []
        #: Executed ops so far, including those beyond the limit.
        self.count = 0

    def site(self, op: str, engine: str, kind: str, loop: int) -> int:
        """Return the index of an op's site, added if the user's frames call it the first time."""
        site_key: list[object] = [op, engine, kind]
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            code = frame.f_code
            if code is self._bottom:
                break
            if not (_package_code.get(id(code)) or _classify_code(code))[1]:
                site_key += (id(code), frame.f_lasti)
            frame = frame.f_back
        site_index = self._site_of.get(identity := tuple(site_key))
        if site_index is None:
            site_index = self._site_of[identity] = len(self.sites)
            innermost = next(self._frames(), None)
            name = "" if innermost is None else assigned_name(innermost.f_code, innermost.f_lasti)
            self.sites.append(Site(op, engine, kind, self._locations(), loop, name))
        return site_index

    def loop(self, kind: str) -> int:
        """Return the index of a loop's site, added if the user's frames start it the first time."""
        loop_key = (kind, *((id(frame.f_code), frame.f_lasti) for frame in self._frames()))
        loop_index = self._loop_of.get(loop_key)
        if loop_index is None:
            loop_index = self._loop_of[loop_key] = len(self.loops)
            self.loops.append(LoopSite(self._locations()))
        return loop_index

    def add_execution(self, row: Execution) -> None:
        """Add an executed op to its site's sums, and store its row below the limit."""
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

    def touched_elements(self, site: int, buffer: int, elements: int) -> NDArray[np.uint8]:
        """Return the array, created once, in which a site marks a buffer's accessed elements."""
        marks = self._touched.get((site, buffer))
        if marks is None:
            marks = self._touched[site, buffer] = np.zeros(elements, np.uint8)
        return marks

    def unique_bytes(self, site: int) -> int:
        """Return the number of distinct bytes of device memory that a site has accessed."""
        return sum(
            int(np.count_nonzero(marks)) * self.buffers[buffer].bytes // max(marks.size, 1)
            for (marking_site, buffer), marks in self._touched.items()
            if marking_site == site
        )

    def elide_buffer(self, order: int, unneeded: int, written: int) -> None:
        """Record that op `order` wrote to `written`, not to buffer `unneeded`, which is dropped."""
        self.buffers[unneeded].elided = True
        if order < len(self.rows):
            self.rows[order] = self.rows[order]._replace(written=written)

    def add_finding(self, finding: Finding) -> None:
        """Store a finding, or count it if the rule was violated at the same site and argument."""
        finding_key = (finding.rule, finding.site, finding.argument, finding.access)
        first_finding = self._finding_of.get(finding_key)
        if first_finding is None:
            self._finding_of[finding_key] = finding
            self.findings.append(finding)
            return
        first_finding.times += 1
        first_finding.lanes += finding.lanes

    @staticmethod
    def raised_at(error: BaseException) -> Frame | None:
        """Return the user's innermost location in an error's traceback, or None."""
        innermost = None
        trace = error.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            if not code.co_filename.startswith(_FOLDER):
                innermost = frame_of(code, trace.tb_lasti)
            trace = trace.tb_next
        return innermost

    # -- frames -----------------------------------------------------------------------------

    def _frames(self) -> Iterator[FrameType]:
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            code = frame.f_code
            if code is self._bottom:
                return
            if not (_package_code.get(id(code)) or _classify_code(code))[1]:
                yield frame
            frame = frame.f_back

    def _locations(self) -> tuple[Frame, ...]:
        return tuple(frame_of(frame.f_code, frame.f_lasti) for frame in self._frames())


def _classify_code(code: CodeType) -> tuple[CodeType, bool]:
    classified = _package_code[id(code)] = code, code.co_filename.startswith(_FOLDER)
    return classified


def assigned_name(code: CodeType, instruction: int) -> str:
    """Return the name of the variable that an instruction's result is assigned to, or ""."""
    code_and_names = _assignments.get(id(code))
    if code_and_names is None:
        code_and_names = _assignments[id(code)] = code, _assigned_names(code)
    return code_and_names[1].get(instruction, "")


def _assigned_names(code: CodeType) -> dict[int, str]:
    names = {}
    for producer, store in pairwise(dis.get_instructions(code)):
        if store.opname.startswith(_STORES):
            name = store.argval  # Python 3.13 and later join two instructions, with both names
            name = str(name[0] if isinstance(name, tuple) else name)
            # The offsets from the instruction to the store include those of its inline caches.
            names.update(dict.fromkeys(range(producer.offset, store.offset, 2), name))
    return names
