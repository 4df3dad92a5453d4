"""What a summary says that a launch touches, enumerated; and what the evaluator touched."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from kvtrace.evaluate import Observer, ScalarArgument, TensorArgument, evaluate
from kvtrace.ir import Module
from kvtrace.ir.types import bytes_in_memory, integer_bits
from kvtrace.symbolic.conditions import Opaque
from kvtrace.symbolic.summary import Access, Summary
from kvtrace.symbolic.terms import MOST_PROGRAMS, Symbol, signed_range

MOST_POINTS = 1 << 24

Touched = dict[int, np.ndarray]
"""Rows of (argument, linear program, byte offset) by op index, sorted; one per active lane."""


class NotPredicted(Exception):
    """The summary says that it does not know, or there is too much to enumerate."""


class Elements(Observer):
    """Keeps every element that is touched."""

    def __init__(self) -> None:
        self.found: dict[int, list[np.ndarray]] = defaultdict(list)
        self.unknown: dict[int, str] = {}

    def access(self, access) -> None:
        elements = access.elements()
        if elements is None or not access.certain:
            self.unknown[access.op.index] = access.reason
            return
        offsets, programs = elements
        argument = np.full(len(offsets), access.argument)
        self.found[access.op.index].append(np.stack([argument, programs, offsets], axis=-1))


def _sorted(parts: Sequence[np.ndarray]) -> np.ndarray:
    rows = np.concatenate([np.zeros((0, 3), np.int64), *parts])
    return rows[np.lexsort(rows.T[::-1])]


def touched(module: Module, arguments, grid) -> tuple[Touched, dict[int, str]]:
    """Evaluate a launch, by arrays and not by formulas, and list what it touches."""
    observer = Elements()
    evaluate(module, arguments, grid, observers=[observer])
    return {op: _sorted(parts) for op, parts in observer.found.items()}, observer.unknown


class Prediction:
    """Enumerates what a summary says of a launch with these arguments, before it runs."""

    def __init__(self, summary: Summary, arguments, grid: Sequence[int]) -> None:
        self.summary = summary
        self.grid = (*grid, 1, 1)[:3]
        self.numbers: dict[Symbol, int] = {}
        self.content = [
            argument.storage.data.copy()
            if isinstance(argument, TensorArgument) and argument.storage.data is not None
            else None
            for argument in arguments
        ]
        self.arguments = arguments
        for axis, extent in enumerate(self.grid):
            self.numbers[Symbol("programs", axis, 1, MOST_PROGRAMS)] = extent
        parameters = summary.module.main.arguments
        for position, (parameter, argument) in enumerate(zip(parameters, arguments, strict=True)):
            self._bind(position, parameter, argument)

    def _bind(self, position, parameter, argument) -> None:
        if isinstance(argument, TensorArgument):
            for what, sizes in (("shape", argument.shape), ("stride", argument.strides)):
                for axis, size in enumerate(sizes):
                    key = (position, what, axis)
                    self.numbers[Symbol("scalar", key, *signed_range(64))] = size
            return
        bits = integer_bits(parameter.type)
        if bits is not None and isinstance(argument, ScalarArgument):
            low, high = signed_range(bits)
            number = int(argument.value)
            number = int(bool(number)) if bits == 1 else (number - low) % (1 << bits) + low
            self.numbers[Symbol("scalar", position, low, high)] = number

    def accesses(self) -> tuple[Touched, dict[int, str]]:
        """List what each op touches, and why that is unknown of others."""
        found: dict[int, list[np.ndarray]] = defaultdict(list)
        unknown: dict[int, str] = {}
        for access in self.summary.accesses:
            index = access.op.index
            try:
                found[index].append(self._rows(access))
            except NotPredicted as reason:
                unknown[index] = str(reason)
        return {op: _sorted(p) for op, p in found.items() if op not in unknown}, unknown

    def _rows(self, access: Access) -> np.ndarray:
        rank = 3 + len(access.loops) + len(access.shape)
        points: dict[Symbol, np.ndarray | int] = dict(self.numbers)

        def line(place: int, extent: int) -> np.ndarray:
            return np.arange(extent).reshape([-1 if i == place else 1 for i in range(rank)])

        for axis, extent in enumerate(self.grid):
            points[Symbol("program", axis, 0, MOST_PROGRAMS - 1)] = line(axis, extent)
        extents = list(self.grid)
        for number, loop in enumerate(access.loops):
            trips = self._asked(loop.trips, points)
            extents.append(max(int(np.max(trips)), 0))
            if not extents[-1]:
                return np.zeros((0, 3), np.int64)
            points[loop.trip] = line(3 + number, extents[-1])
        for axis, extent in enumerate(access.shape):
            if extent > 1:
                place = 3 + len(access.loops) + axis
                points[Symbol("lane", axis, 0, extent - 1)] = line(place, extent)
        extents += access.shape
        if np.prod(extents) > MOST_POINTS:
            raise NotPredicted("too many points")
        active = np.broadcast_to(self._asked(access.active, points), extents)
        if not active.any():
            return np.zeros((0, 3), np.int64)
        if access.unknown is not None:
            raise NotPredicted(access.unknown)
        offsets = np.broadcast_to(self._asked(access.offset, points), extents)
        x, y, _ = self.grid
        linear = line(0, x) + x * line(1, y) + x * y * line(2, self.grid[2])
        linear = np.broadcast_to(linear, extents)
        owner = np.full(int(active.sum()), access.argument)
        return np.stack([owner, linear[active], offsets[active]], axis=-1)

    def _asked(self, formula, points):
        try:
            return formula.values(points, self._resolve)
        except KeyError as error:
            missing = error.args[0]
            raise NotPredicted(_reason(missing)) from error

    def _resolve(self, symbol: Symbol, at):
        """Read what lay in memory before the launch."""
        if symbol.kind != "content":
            raise KeyError(symbol)
        assert isinstance(symbol.key, tuple)
        index, position, *_ = symbol.key
        data, argument = self.content[position], self.arguments[position]
        if data is None:
            raise KeyError(symbol)
        op = self.summary.module.ops[index]
        size = bytes_in_memory(op.results[0].type)
        starts = np.asarray(at[0]) + argument.offset_bytes
        inside = (starts >= 0) & (starts + size <= len(data))
        starts = np.where(inside, starts, 0)
        held = np.stack([data[starts + i] for i in range(size)], axis=-1)
        numbers = np.ascontiguousarray(held).view(f"i{size}")[..., 0].astype(np.int64)
        return np.where(inside, numbers, 0)


def _reason(missing) -> str:
    if isinstance(missing, Opaque):
        return missing.reason
    if missing.kind == "unknown":
        return missing.key[1]
    return f"no number of kind {missing.kind}"


def compared(summary: Summary, arguments, grid) -> dict[int, str]:
    """Say of each memory op "same", "differs: …", or "unknown: …"."""
    prediction = Prediction(summary, arguments, grid)
    predicted, unknown = prediction.accesses()
    found, undecided = touched(summary.module, arguments, grid)
    result = {}
    for index in sorted({*predicted, *unknown, *found, *undecided}):
        if index in unknown:
            result[index] = f"unknown: {unknown[index]}"
        elif index in undecided:
            result[index] = "not evaluated"
        else:
            empty = np.zeros((0, 3), np.int64)
            ours, theirs = predicted.get(index, empty), found.get(index, empty)
            if np.array_equal(ours, theirs):
                result[index] = "same"
            else:
                result[index] = f"differs: {len(ours)} predicted, {len(theirs)} touched"
    return result
