"""Calls that are slightly wrong, and what an evaluation of their whole grid says of them."""

from collections.abc import Iterator

import numpy as np

from kvtrace.evaluate import Argument, Observer, ScalarArgument, Storage, TensorArgument
from kvtrace.recorded_calls.recorded import Call
from kvtrace.verdicts.replaying import run
from tests.support.replacing import replace


def call_of(module, arguments, grid, name="kernel") -> Call:
    """A call on evaluator arguments, all of whose integers were recorded."""
    x, y, z = (*grid, 1, 1)[:3]
    tensors = (a for a in arguments if isinstance(a, TensorArgument))
    recorded = tuple(a.name for a in tensors if a.storage.data is not None)
    return Call(0, name, (x, y, z), module, tuple(arguments), recorded)


def mutants(call: Call) -> Iterator[tuple[str, Call]]:
    """The call itself; an axis of the grid doubled; a scalar one off; a storage too short."""
    yield "as it is", call
    for axis in range(3):
        grid = list(call.grid)
        grid[axis] *= 2
        yield f"grid axis {axis} doubled", replace(call, grid=tuple(grid))
    for position, argument in enumerate(call.arguments):
        for what, changed in _changed(argument):
            arguments = list(call.arguments)
            arguments[position] = changed
            yield f"{argument.name} {what}", replace(call, arguments=tuple(arguments))


def _changed(argument: Argument) -> Iterator[tuple[str, Argument]]:
    if isinstance(argument, ScalarArgument):
        if isinstance(argument.value, int) and not isinstance(argument.value, bool):
            yield "+ 1", replace(argument, value=argument.value + 1)
            yield "- 1", replace(argument, value=argument.value - 1)
        return
    whole, size = argument.storage, argument.element.bytes
    if whole.nbytes >= 2 * size:
        data = None if whole.data is None else whole.data[:-size].copy()
        yield "one element short", replace(argument, storage=Storage(whole.nbytes - size, data))


class Defects(Observer):
    """The ops that certainly leave their tensor, by rule, and those that could not be followed."""

    def __init__(self) -> None:
        self.broken: set[tuple[str, int]] = set()
        self.doubtful: set[int] = set()

    def access(self, access) -> None:
        if access.active != 0 and access.lowest is None:
            self.doubtful.add(access.op.index)

    def out_of_bounds(self, defect) -> None:
        if defect.certain:
            self.broken.add((defect.rule, defect.op.index))
        else:
            self.doubtful.add(defect.op.index)


def evaluated(call: Call) -> Defects:
    """Evaluate all programs, with all contents that are there."""
    seen = Defects()
    with np.errstate(all="ignore"):
        failure = run(call, (seen,), contents="integers")
        if seen.doubtful:
            seen = Defects()
            failure = run(call, (seen,), contents="all")
    if failure is not None:
        seen.doubtful.update(op.index for op in call.module.ops)
    return seen
