"""Which memory ops can follow each other with no barrier between them, by a kernel's PTX.

An instruction belongs to the memory ops at its source location; one whose location no memory op has
may belong to any op that does what it does. So a path may be listed that no program takes, and none
is left out. A path counts as certain only between instructions at the source locations of their ops.

The format is PTX's: https://docs.nvidia.com/cuda/parallel-thread-execution/, chapters "Parallel
Synchronization and Communication Instructions: bar, barrier" and "Debugging Directives: .loc".
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from kvtrace.ir import Module, Op, source_stack
from kvtrace.ir.columns import column_shift
from kvtrace.ir.ops import MEMORY, POINTED, effect_of
from kvtrace.schema.cached_property import cached_property

_BODY: Final = re.compile(r"^\.(?:visible|weak) \.entry .*?^\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_LINE: Final = re.compile(r"^(?:\{\s*)?(?:@!?(%\w+)\s+)?(\.?[A-Za-z$_][\w.:$]*)\s*(.*?)\s*$")
_LABEL: Final = re.compile(r"^([$\w]+):$")
_BARRIER: Final = re.compile(r"(?:bar|barrier)(?:\.cta)?\.sync(?:\.aligned)?")
_ASYNCHRONOUS: Final = re.compile(r"cp\.(?:reduce\.)?async\.(?!commit|wait|bulk\.(?:commit|wait))")
_ELSEWHERE: Final = re.compile(r"\.(?:shared|param|local|const)\b")
_UNFOLLOWED: Final = re.compile(r"^\s*(?:@!?%\w+\s+)?(?:brx|setmaxnreg)\b", re.MULTILINE)
"""Jumps by a table; and kernels whose warps do different things, which share no barrier."""
_ENDS: Final = ("ret", "exit", "trap")
_DOES: Final = {"ld": "load", "st": "store", "atom": "atomic", "red": "atomic"}

#: PTX of more instructions that matter is not followed.
_MOST_POINTS: Final = 20_000

_Where = tuple[int, int]


@dataclass
class _Point:
    """An instruction that accesses memory, is a barrier, or goes elsewhere.

    `ops` are those that it may belong to; `placed` says that all of these are at its location.
    """

    ops: frozenset[int] = frozenset()
    placed: bool = False
    is_barrier: bool = False
    goes_on: bool = True
    target: str | None = None


@dataclass(frozen=True, eq=False)
class CompiledBarriers:
    """The barriers of a kernel's PTX, read when it is first asked for them.

    `triton` is the version whose locations the PTX has.
    """

    module: Module = field(repr=False)
    ptx: str = field(repr=False)
    triton: str | None

    def separate(self, first: Op, second: Op, between: Iterable[Op] = ()) -> bool | None:
        """Tell whether a barrier lies on every path from one memory op to another.

        PTX has paths past loops of no trips: `between` are memory ops that are surely done, after
        the first and before the second. None: it is not known, as for asynchronous copies, or
        where which op an instruction belongs to is not.
        """
        if self._reached is None or not {first.index, second.index} <= self._reached.keys():
            return None
        if second.index not in self._reached[first.index]:
            return True
        if any(self._separates(first, each, second) for each in between):
            return True
        return False if second.index in self._surely_reached.get(first.index, ()) else None

    def _separates(self, first: Op, middle: Op, second: Op) -> bool:
        """Whether an op is done after the first and before the second, a barrier beside it."""
        if self._reached is None or middle.index not in self._reached:
            return False
        if first.index in self._after[middle.index] or middle.index in self._after[second.index]:
            return False
        before = middle.index not in self._reached[first.index]
        return before or second.index not in self._reached[middle.index]

    def ends(self, op: Op) -> bool:
        """Whether an op was found, and none of its instructions is asynchronous."""
        return self._reached is not None and op.index in self._reached

    @property
    def _reached(self) -> Mapping[int, frozenset[int]] | None:
        """By the index of each op that is found: those that may follow without a barrier."""
        return None if self._followed is None else self._followed[0]

    @property
    def _surely_reached(self) -> Mapping[int, frozenset[int]]:
        """The same of instructions at the location of their ops."""
        return {} if self._followed is None else self._followed[2]

    @property
    def _after(self) -> Mapping[int, frozenset[int]]:
        """The same, behind barriers, too."""
        return {} if self._followed is None else self._followed[1]

    @cached_property
    def _followed(self) -> tuple[Mapping[int, frozenset[int]], ...] | None:
        body = _BODY.search(self.ptx)
        if body is None or _UNFOLLOWED.search(body[1]) or len(_BODY.findall(self.ptx)) > 1:
            return None
        points, labels, asynchronous = self._points(body[1])
        if len(points) > _MOST_POINTS or any(p.target not in labels for p in points if p.target):
            return None
        return tuple(
            {op: after for op, after in found.items() if op not in asynchronous}
            for found in (
                _all_following(points, labels),
                _all_following(points, labels, past_barriers=True),
                _all_following([_placed(point) for point in points], labels),
            )
        )

    def _points(self, body: str) -> tuple[list[_Point], dict[str, int], set[int]]:
        """Return what matters of the instructions, where labels are, and asynchronous ops."""
        places = _places(self.module)
        by_effect = {
            does: frozenset(op.index for op in self.module.ops if effect_of(op) == does)
            for does in _DOES.values()
        }
        every = frozenset().union(*by_effect.values())
        points: list[_Point] = []
        labels: dict[str, int] = {}
        asynchronous: set[int] = set()
        for where, guarded, name, rest in instructions(body, self.triton):
            mine = places.get(where, frozenset())
            does = _DOES.get(name.partition(".")[0])
            if name == ":":
                labels[rest] = len(points)
            elif _BARRIER.fullmatch(name):
                points.append(_Point(is_barrier=not guarded and rest in ("0", "0x0")))
            elif _ASYNCHRONOUS.match(name):
                ops = mine or every
                asynchronous |= ops
                points.append(_Point(ops))
            elif does is not None and not _ELSEWHERE.search(name):
                alike = by_effect[does]
                own = mine & alike
                points.append(_Point(own or alike, placed=bool(own)))
            elif name == "bra" or name.startswith("bra."):
                points.append(_Point(goes_on=guarded, target=rest))
            elif name.partition(".")[0] in _ENDS:
                points.append(_Point(goes_on=guarded))
        points.append(_Point(goes_on=False))
        return points, labels, asynchronous


def instructions(ptx: str, triton: str | None) -> Iterator[tuple[_Where, bool, str, str]]:
    """Yield line and column, whether it is guarded, name and operands of each instruction.

    A label is an instruction named ":". `triton` is the version whose locations the PTX has.
    """
    shift = column_shift(triton)
    where = (0, 0)
    for line in ptx.splitlines():
        text = line.partition("//")[0].strip()
        label = _LABEL.match(text)
        if label is not None:
            yield where, False, ":", label[1]
            continue
        for part in text.split(";"):
            found = _LINE.match(part.strip())
            if found is None:
                continue
            guard, name, rest = found.groups()
            if name == ".loc":
                numbers = rest.replace(",", " ").split()
                where = int(numbers[1]), int(numbers[2]) + shift
            else:
                yield where, guard is not None, name, rest


def _places(module: Module) -> Mapping[_Where, frozenset[int]]:
    found: dict[_Where, set[int]] = defaultdict(set)
    for op in module.ops:
        if op.name in MEMORY and op.name in POINTED:
            for frame in source_stack(op)[:1]:
                found[frame.line, frame.column].add(op.index)
    return {where: frozenset(ops) for where, ops in found.items()}


def _placed(point: _Point) -> _Point:
    return point if point.placed else replace(point, ops=frozenset())


def _all_following(
    points: list[_Point], labels: Mapping[str, int], *, past_barriers: bool = False
) -> Mapping[int, frozenset[int]]:
    found: dict[int, set[int]] = defaultdict(set)
    for position, point in enumerate(points):
        if point.ops:
            after = _following(points, labels, position, past_barriers)
            for op in point.ops:
                found[op] |= after
    return {op: frozenset(after) for op, after in found.items()}


def _following(
    points: list[_Point], labels: Mapping[str, int], start: int, past_barriers: bool
) -> set[int]:
    """Return the ops at the points that can come after one, before a barrier does or not."""
    reached: set[int] = set()
    seen: set[int] = set()
    waiting = [start + 1]
    while waiting:
        position = waiting.pop()
        while position not in seen:
            seen.add(position)
            point = points[position]
            reached |= point.ops
            if point.target is not None:
                waiting.append(labels[point.target])
            if not point.goes_on or (point.is_barrier and not past_barriers):
                break
            position += 1
    return reached
