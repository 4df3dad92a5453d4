"""Race detection in device memory: elements that two programs of a grid access.

Programs run at the same time on a device, but one after the other here. So the program that wrote
an element last and the program that read it first are stored, and a later access by another program
is compared with them. `iterations.py` does the same for iterations of `affine_range`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron import iterations
from kvtrace.addons.neuron.findings import RACE

if TYPE_CHECKING:
    from kvtrace.addons.neuron.operations import Issue
    from kvtrace.addons.neuron.tensors import Tensor


def note_read(
    issue: "Issue",
    tensor: "Tensor",
    positions: NDArray[np.int64] | None,
    lanes: NDArray[np.bool_] | None,
) -> None:
    """Report a read of elements that another program wrote; store the reading program.

    `positions` are the elements' indices in the memory; None stands for the whole view.
    """
    memory = tensor.memory
    if memory.writer_iterations is not None:
        iterations.note_read(issue, tensor, positions, lanes)
    if memory.shared and issue.run.programs > 1:
        _note_first_reader(issue, tensor, positions, lanes)
    if memory.writers is None:
        return
    writers = tensor.per_element(memory.writers, positions)
    if lanes is not None and positions is None:
        writers = np.where(np.broadcast_to(lanes, writers.shape), writers, 0)
    _report_race(issue, tensor, writers, "reads", "writes")


def note_write(
    issue: "Issue",
    tensor: "Tensor",
    positions: NDArray[np.int64] | None,
    lanes: NDArray[np.bool_] | None,
    changed: Callable[[], NDArray[np.bool_]],
) -> None:
    """Report a write of elements that another program accessed; store the writing program.

    `changed` returns bools, true for elements whose value changes: two programs that write equal
    values do not race.
    """
    memory = tensor.memory
    if memory.writer_iterations is not None or issue.run.loops:
        iterations.note_write(issue, tensor, positions, lanes)
    if not memory.shared or issue.run.programs < 2:
        return
    this_program = issue.run.program + 1
    if memory.writers is None:
        memory.writers = np.zeros(memory.raw.size // memory.dtype.itemsize, np.int32)
    writers = tensor.per_element(memory.writers, positions)
    written_lanes: Any = True
    if positions is None and lanes is not None:
        written_lanes = np.broadcast_to(lanes, writers.shape)
    if memory.readers is not None:
        lanes_of_own_elements = written_lanes & ((writers == 0) | (writers == this_program))
        readers = tensor.per_element(memory.readers, positions)
        _report_race(issue, tensor, np.where(lanes_of_own_elements, readers, 0), "writes", "reads")
    if ((writers != 0) & (writers != this_program)).any():
        _report_race(
            issue,
            tensor,
            np.where(written_lanes & _changed_elements(changed(), writers), writers, 0),
            "writes",
            "writes",
        )
    tensor.set_per_element(memory.writers, this_program, positions, lanes)


def _changed_elements(
    changed: NDArray[np.bool_], writers: NDArray[np.int32]
) -> NDArray[np.bool_] | bool:
    """Return the changed elements; True for all if the view's elements have another width."""
    return changed if changed.shape == writers.shape else True


def _note_first_reader(
    issue: "Issue",
    tensor: "Tensor",
    positions: NDArray[np.int64] | None,
    lanes: NDArray[np.bool_] | None,
) -> None:
    """Store the running program as reader of elements that no program has read."""
    memory = tensor.memory
    if memory.readers is None:
        memory.readers = np.zeros(memory.raw.size // memory.dtype.itemsize, np.int32)
    readers = tensor.per_element(memory.readers, positions)
    is_first = readers == 0
    first_readers = np.where(is_first, issue.run.program + 1, readers)
    tensor.set_per_element(memory.readers, first_readers, positions, lanes)


def _report_race(
    issue: "Issue", tensor: "Tensor", programs: NDArray[np.int32], verb: str, other_verb: str
) -> None:
    """Report a race if `programs`, 1 + the program per element, has another than the running."""
    this_program = issue.run.program + 1
    is_other = (programs != 0) & (programs != this_program)
    if not is_other.any():
        return
    lane = tuple(int(index) for index in np.argwhere(is_other)[0])
    program = int(programs[lane]) - 1
    name = tensor.memory.argument or tensor.memory.life.name or "shared device memory"
    message = (
        f"program {this_program - 1} {verb} elements of {name!r} "
        f"that program {program} {other_verb}"
    )
    issue.report(
        RACE,
        message,
        access="load" if verb == "reads" else "store",
        lane=lane,
        lanes=int(is_other.sum()),
        argument=tensor.memory.argument,
        other_program=program,
    )
