"""Loop-carried dependences: elements that one iteration of `affine_range` reads from another.

Each iteration of each loop has a unique number, its serial; 0 stands for outside of all loops. With
each element, the serial of the iteration that wrote it last is stored. The serials of a read and of
the write before it give all iterations around both, and so whether the two were in different
iterations of one execution of an `affine_range`. Example: `for i in affine_range(4): a[0] =
exp(a[0])` reads in iteration i the result of iteration i - 1; `a[0] += x[i]` is a reduction, which
is allowed.
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

#: Operations that accumulate in any order, and so may combine results of several iterations.
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
    """One iteration of a loop; `around` is the serial of the iteration that encloses it.

    `execution` numbers executions of loops, `parallel` is true of `affine_range`, `site` is the
    loop's site, and `trip` counts from 0 in each execution.
    """

    execution: int
    around: int
    parallel: bool
    site: int = -1
    trip: int = -1


def outlives_iteration(run: "Run", memory: "Memory") -> bool:
    """Return whether a parallel loop is running that began after the allocation."""
    serials = memory.allocation_serials
    loops = run.loops
    shared_depth = 0
    for serial, loop in zip(serials, loops, strict=False):
        if serial != loop.serial:
            break
        shared_depth += 1
    return any(loop.parallel for loop in loops[shared_depth:])


def note_write(
    issue: "Issue",
    tensor: "Tensor",
    positions: NDArray[np.int64] | None,
    lanes: NDArray[np.bool_] | None,
) -> None:
    """Store, for each element written, the serial of the current iteration.

    Nothing is stored while no parallel loop can carry the memory's elements from one iteration to
    another, nor for reductions. `positions` are indices in the memory, None for the whole view.
    """
    memory = tensor.memory
    run = issue.run
    if issue.is_reduction:  # the elements still depend on other iterations
        return
    if memory.writer_iterations is None:
        if not outlives_iteration(run, memory):
            return
        memory.writer_iterations = np.zeros(memory.raw.size // memory.dtype.itemsize, np.int32)
    serial = run.loops[-1].serial if run.loops else 0
    tensor.set_per_element(memory.writer_iterations, serial, positions, lanes)


def note_read(
    issue: "Issue",
    tensor: "Tensor",
    positions: NDArray[np.int64] | None,
    lanes: NDArray[np.bool_] | None,
) -> None:
    """Report elements that another iteration wrote, unless the op is, or may be, a reduction."""
    memory = tensor.memory
    if memory.writer_iterations is None or not issue.run.loops:
        return
    serials = tensor.per_element(memory.writer_iterations, positions)
    if lanes is not None and positions is None:
        serials = serials[np.broadcast_to(lanes, serials.shape)]
    if not serials.size:
        return
    first_serial = int(serials.flat[0])
    is_uniform = bool((serials == first_serial).all())
    for serial in (first_serial,) if is_uniform else np.unique(serials):
        if not _is_loop_carried(issue.run, int(serial)):
            continue
        if _is_accumulation(issue, tensor):
            issue.is_reduction = True
            return
        finding = _dependence_finding(issue, tensor, serials == serial)
        if _may_be_accumulation(issue):
            issue.run.pending_findings.append((finding, tensor))
        else:
            issue.run.recorder.add_finding(finding)
        return


def _is_accumulation(issue: "Issue", tensor: "Tensor") -> bool:
    token, destination = issue.combining_token, issue.destination
    return (
        token is not None
        and token.name in ASSOCIATIVE
        and destination is not None
        and destination.same_elements(tensor)
    )


def _may_be_accumulation(issue: "Issue") -> bool:
    """Return whether the op is a reduction if its result is assigned to its operand: `t += x`."""
    return (
        issue.destination is None
        and issue.operation.kind == "elementwise"
        and issue.combining_token is not None
        and issue.combining_token.name in ASSOCIATIVE
    )


def _is_loop_carried(run: "Run", serial: int) -> bool:
    """Return whether elements were written in another iteration of a running parallel loop.

    The outermost loop of which the write and the read are in different iterations decides: ordered
    loops may carry values from one iteration to the next.
    """
    written_serials = {}
    while serial:
        iteration = run.iterations[serial]
        written_serials[iteration.execution] = serial
        serial = iteration.around
    for loop in run.loops:
        written_serial = written_serials.get(run.iterations[loop.serial].execution)
        if written_serial is None:
            return False
        if written_serial != loop.serial:
            return loop.parallel
    return False


def _dependence_finding(
    issue: "Issue", tensor: "Tensor", is_dependent: NDArray[np.bool_]
) -> Finding:
    memory = tensor.memory
    name = memory.argument or memory.life.name
    tensor_text = f"{name!r}" if name else f"a tensor in {memory.space}"
    message = (
        f"{issue.operation.name} reads elements of {tensor_text} that another iteration of "
        "affine_range wrote"
    )
    lane = tuple(int(index) for index in np.argwhere(is_dependent)[0])
    return issue.finding(
        LOOP_DEPENDENCE,
        message,
        access="load",
        lane=lane,
        lanes=int(is_dependent.sum()),
        argument=memory.argument,
    )
