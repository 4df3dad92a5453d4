"""Barriers of compiled kernels: pairs of memory ops with no barrier between, read from the PTX.

An instruction belongs to the memory ops at its source location; if no memory op has the location,
the instruction may belong to any op with the same effect. Paths may therefore be listed that no
program takes, but none is missing. A path is certain only between instructions at their ops'
locations.

The format is PTX's: https://docs.nvidia.com/cuda/parallel-thread-execution/, chapters "Parallel
Synchronization and Communication Instructions: bar, barrier" and "Debugging Directives: .loc".
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from kvtrace.ir import Module, Op, source_stack
from kvtrace.ir.locations import column_shift
from kvtrace.ir.ops import MEMORY, POINTED, effect_of
from kvtrace.schema.cached_property import cached_property

_BODY: Final = re.compile(r"^\.(?:visible|weak) \.entry .*?^\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_LINE: Final = re.compile(r"^(?:\{\s*)?(?:@!?(%\w+)\s+)?(\.?[A-Za-z$_][\w.:$]*)\s*(.*?)\s*$")
_LABEL: Final = re.compile(r"^([$\w]+):$")
_BARRIER: Final = re.compile(r"(?:bar|barrier)(?:\.cta)?\.sync(?:\.aligned)?")
_ASYNCHRONOUS: Final = re.compile(r"cp\.(?:reduce\.)?async\.(?!commit|wait|bulk\.(?:commit|wait))")
_OTHER_MEMORY: Final = re.compile(r"\.(?:shared|param|local|const)\b")
_UNSUPPORTED: Final = re.compile(r"^\s*(?:@!?%\w+\s+)?(?:brx|setmaxnreg)\b", re.MULTILINE)
"""Jumps by a table, and kernels with specialized warps, which have no common barrier."""
_EXITS: Final = ("ret", "exit", "trap")
_EFFECTS: Final = {"ld": "load", "st": "store", "atom": "atomic", "red": "atomic"}

#: Limit of instructions of a kernel whose paths are traced.
_MAX_POINTS: Final = 20_000

_Location = tuple[int, int]


class _Point(Struct):
    """An instruction that accesses memory, is a barrier, or jumps.

    `ops` has the indices of memory ops to which the instruction may belong; `is_located`: all of
    these ops are at the instruction's location.
    """

    ops: frozenset[int] = frozenset()
    is_located: bool = False
    is_barrier: bool = False
    falls_through: bool = True
    target: str | None = None


class _Paths(NamedTuple):
    """Ops that may follow an op in the PTX, by index: `followers` do without a barrier between.

    `certain_followers` do by instructions at the location of their ops.
    """

    followers: Mapping[int, frozenset[int]]
    followers_past_barriers: Mapping[int, frozenset[int]]
    certain_followers: Mapping[int, frozenset[int]]

    def separate_at(self, first: int, middle: int, second: int) -> bool:
        """Return whether a barrier lies on every path to, or from, the middle op."""
        if middle not in self.followers:
            return False
        past_barriers = self.followers_past_barriers
        if first in past_barriers[middle] or middle in past_barriers[second]:
            return False
        return middle not in self.followers[first] or second not in self.followers[middle]


class CompiledBarriers(Struct, frozen=True, eq=False, dict=True):
    """The barriers of a kernel's PTX, which is parsed when it is first needed.

    `triton` is the version of Triton that wrote the locations in the PTX.
    """

    module: Module
    ptx: str
    triton: str | None

    def separate(self, first: Op, second: Op, between: Iterable[Op] = ()) -> bool | None:
        """Return whether a barrier lies on every path from one memory op to another.

        PTX has paths around loops, for 0 trips: `between` has memory ops that surely run after
        the first and before the second. None if unknown: for asynchronous copies, or if an
        instruction's op is unknown.
        """
        paths = self._paths
        if paths is None or not {first.index, second.index} <= paths.followers.keys():
            return None
        if second.index not in paths.followers[first.index]:
            return True
        if any(paths.separate_at(first.index, op.index, second.index) for op in between):
            return True
        return False if second.index in paths.certain_followers.get(first.index, ()) else None

    def is_synchronous(self, op: Op) -> bool:
        """Return whether an op is in the PTX, with no asynchronous instruction."""
        return self._paths is not None and op.index in self._paths.followers

    @cached_property
    def _paths(self) -> _Paths | None:
        body = _BODY.search(self.ptx)
        if body is None or _UNSUPPORTED.search(body[1]) or len(_BODY.findall(self.ptx)) > 1:
            return None
        points, labels, asynchronous = self._parse_points(body[1])
        if len(points) > _MAX_POINTS or any(p.target not in labels for p in points if p.target):
            return None
        located = [p if p.is_located else replace(p, ops=frozenset()) for p in points]
        return _Paths(
            _followers_by_op(points, labels, asynchronous),
            _followers_by_op(points, labels, asynchronous, past_barriers=True),
            _followers_by_op(located, labels, asynchronous),
        )

    def _parse_points(self, body: str) -> tuple[list[_Point], dict[str, int], set[int]]:
        """Return the points of the instructions, positions of labels, and asynchronous ops."""
        ops_by_location = _ops_by_location(self.module)
        by_effect = {
            effect: frozenset(op.index for op in self.module.ops if effect_of(op) == effect)
            for effect in _EFFECTS.values()
        }
        memory_ops = frozenset().union(*by_effect.values())
        points: list[_Point] = []
        labels: dict[str, int] = {}
        asynchronous: set[int] = set()
        for location, is_guarded, name, operands in instructions(body, self.triton):
            located_ops = ops_by_location.get(location, frozenset())
            effect = _EFFECTS.get(name.partition(".")[0])
            if name == ":":
                labels[operands] = len(points)
            elif _BARRIER.fullmatch(name):
                points.append(_Point(is_barrier=not is_guarded and operands in ("0", "0x0")))
            elif _ASYNCHRONOUS.match(name):
                ops = located_ops or memory_ops
                asynchronous |= ops
                points.append(_Point(ops))
            elif effect is not None and not _OTHER_MEMORY.search(name):
                with_effect = by_effect[effect]
                located_with_effect = located_ops & with_effect
                points.append(
                    _Point(located_with_effect or with_effect, is_located=bool(located_with_effect))
                )
            elif name == "bra" or name.startswith("bra."):
                points.append(_Point(falls_through=is_guarded, target=operands))
            elif name.partition(".")[0] in _EXITS:
                points.append(_Point(falls_through=is_guarded))
        points.append(_Point(falls_through=False))
        return points, labels, asynchronous


def instructions(ptx: str, triton: str | None) -> Iterator[tuple[_Location, bool, str, str]]:
    """Yield location, whether guarded, name and operands of each instruction of PTX.

    A label is an instruction named ":". `triton` is the version that wrote the locations in the
    PTX.
    """
    column_offset = column_shift(triton)
    location = (0, 0)
    for line in ptx.splitlines():
        text = line.partition("//")[0].strip()
        label = _LABEL.match(text)
        if label is not None:
            yield location, False, ":", label[1]
            continue
        for statement in text.split(";"):
            match = _LINE.match(statement.strip())
            if match is None:
                continue
            guard, name, operands = match.groups()
            if name == ".loc":
                loc_operands = operands.replace(",", " ").split()
                location = int(loc_operands[1]), int(loc_operands[2]) + column_offset
            else:
                yield location, guard is not None, name, operands


def _ops_by_location(module: Module) -> Mapping[_Location, frozenset[int]]:
    by_location: dict[_Location, set[int]] = defaultdict(set)
    for op in module.ops:
        if op.name in MEMORY and op.name in POINTED:
            for frame in source_stack(op)[:1]:
                by_location[frame.line, frame.column].add(op.index)
    return {location: frozenset(ops) for location, ops in by_location.items()}


def _followers_by_op(
    points: list[_Point], labels: Mapping[str, int], asynchronous: set[int], *,
    past_barriers: bool = False,
) -> Mapping[int, frozenset[int]]:  # fmt: skip
    followers: dict[int, set[int]] = defaultdict(set)
    for position, point in enumerate(points):
        if point.ops:
            new_followers = _followers_of(points, labels, position, past_barriers)
            for op in point.ops - asynchronous:
                followers[op] |= new_followers
    return {op: frozenset(new_followers) for op, new_followers in followers.items()}


def _followers_of(
    points: list[_Point], labels: Mapping[str, int], start: int, past_barriers: bool
) -> set[int]:
    """Return the ops at points that may run after a point, up to barriers or past them."""
    reached: set[int] = set()
    visited: set[int] = set()
    pending = [start + 1]
    while pending:
        position = pending.pop()
        while position not in visited:
            visited.add(position)
            point = points[position]
            reached |= point.ops
            if point.target is not None:
                pending.append(labels[point.target])
            if not point.falls_through or (point.is_barrier and not past_barriers):
                break
            position += 1
    return reached
