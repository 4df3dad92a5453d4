"""Which iteration wrote an element: what an iteration of `affine_range` may not use of another.

Each iteration of each loop has a separate number, its serial; 0 is outside of all loops. Serials
identify the loops around, and so whether two accesses were in different iterations of one execution
of a loop that promises that its iterations do not depend on each other.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron.findings import LOOP_DEPENDENCE, Finding

if TYPE_CHECKING:
    from kvtrace.addons.neuron.machine import Run
    from kvtrace.addons.neuron.memory import Memory
    from kvtrace.addons.neuron.operations import Issue
    from kvtrace.addons.neuron.tensors import Tensor

#: Operations that may be applied to what other iterations have left, in any order: reductions.
ASSOCIATIVE: Final = frozenset(
    {
        "add",
        "subtract",
        "multiply",
        "divide",
        "maximum",
        "minimum",
        "logical_and",
        "logical_or",
        "logical_xor",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
    }
)


class Iteration(NamedTuple):
    """One iteration: number of the loop's execution, serial of the iteration around, and kind.

    `site` is the loop's, and `trip` counts from 0 in each execution of it.
    """

    execution: int
    around: int
    parallel: bool
    site: int = -1
    trip: int = -1


def matters(run: "Run", memory: "Memory") -> bool:
    """Whether a memory outlives an iteration of a running parallel loop."""
    born = memory.born
    loops = run.loops
    depth = 0
    for serial, loop in zip(born, loops, strict=False):
        if serial != loop.serial:
            break
        depth += 1
    return any(loop.parallel for loop in loops[depth:])


def note_write(
    issue: "Issue",
    tensor: "Tensor",
    places: NDArray[np.int64] | None,
    lanes: NDArray[np.bool_] | None,
) -> None:
    """Keep the iteration that writes elements, where somebody may want to know."""
    memory = tensor.memory
    run = issue.run
    if issue.reduces:  # what is there depends on other iterations still
        return
    if memory.stamps is None:
        if not matters(run, memory):
            return
        memory.stamps = np.zeros(memory.raw.size // memory.dtype.itemsize, np.int32)
    serial = run.loops[-1].serial if run.loops else 0
    if places is not None:
        memory.stamps[places] = serial
        return
    kept = tensor.of_elements(memory.stamps)
    if lanes is None:
        kept[...] = serial
    else:
        np.copyto(kept, serial, where=np.broadcast_to(lanes, kept.shape))


def note_read(
    issue: "Issue",
    tensor: "Tensor",
    places: NDArray[np.int64] | None,
    lanes: NDArray[np.bool_] | None,
) -> None:
    """Find what another iteration of a parallel loop wrote, unless it is reduced over the loop."""
    memory = tensor.memory
    if memory.stamps is None or not issue.run.loops:
        return
    kept = tensor.of_elements(memory.stamps, places)
    if lanes is not None and places is None:
        kept = kept[np.broadcast_to(lanes, kept.shape)]
    if not kept.size:
        return
    first = int(kept.flat[0])
    uniform = bool((kept == first).all())
    for serial in (first,) if uniform else np.unique(kept):
        if not _other_iteration(issue.run, int(serial)):
            continue
        if _is_reduced(issue, tensor):
            issue.reduces = True
            return
        finding = _finding(issue, tensor, kept == serial)
        if _may_be_reduced(issue):
            issue.run.held.append((finding, tensor))
        else:
            issue.run.recorder.find(finding)
        return


def _is_reduced(issue: "Issue", tensor: "Tensor") -> bool:
    token, destination = issue.combines, issue.destination
    return (
        token is not None
        and token.name in ASSOCIATIVE
        and destination is not None
        and destination.same_elements(tensor)
    )


def _may_be_reduced(issue: "Issue") -> bool:
    """Whether it is a reduction if the new tile goes where the operand is: `t[...] = t + x`."""
    return (
        issue.destination is None
        and issue.operation.kind == "elementwise"
        and issue.combines is not None
        and issue.combines.name in ASSOCIATIVE
    )


def _other_iteration(run: "Run", serial: int) -> bool:
    """Whether something was written in another iteration of a running parallel loop.

    Of the loops that the write and the read are both in, the outermost one in another iteration
    decides: what an ordered loop passes on is intended.
    """
    written = {}
    while serial:
        iteration = run.iterations[serial]
        written[iteration.execution] = serial
        serial = iteration.around
    for loop in run.loops:
        then = written.get(run.iterations[loop.serial].execution)
        if then is None:
            return False
        if then != loop.serial:
            return loop.parallel
    return False


def _finding(issue: "Issue", tensor: "Tensor", wrong: NDArray[np.bool_]) -> Finding:
    memory = tensor.memory
    name = memory.argument or memory.life.name
    called = f"{name!r}" if name else f"a tensor in {memory.space}"
    text = (
        f"{issue.operation.name} reads elements of {called} that another iteration of "
        "affine_range wrote"
    )
    lane = tuple(int(place) for place in np.argwhere(wrong)[0])
    return issue.finding(
        LOOP_DEPENDENCE,
        text,
        access="load",
        lane=lane,
        lanes=int(wrong.sum()),
        argument=memory.argument,
    )
