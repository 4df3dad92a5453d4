"""Who wrote or read an element: what programs both touch, and what a loop's iterations carry over.

Programs of a grid run at the same time on the machine, and so may iterations of `affine_range`;
here they run one after the other, which is why both have to be looked for.
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
    places: NDArray[np.int64] | None,
    lanes: NDArray[np.bool_] | None,
) -> None:
    """Look at a read; `places` are elements of the memory, None the whole view."""
    memory = tensor.memory
    if memory.stamps is not None:
        iterations.note_read(issue, tensor, places, lanes)
    if memory.shared and issue.run.programs > 1:
        _keep_reader(issue, tensor, places, lanes)
    if memory.writers is None:
        return
    writers = tensor.of_elements(memory.writers, places)
    if lanes is not None and places is None:
        writers = np.where(np.broadcast_to(lanes, writers.shape), writers, 0)
    _compare(issue, tensor, writers, "reads", "writes")


def note_write(
    issue: "Issue",
    tensor: "Tensor",
    places: NDArray[np.int64] | None,
    lanes: NDArray[np.bool_] | None,
    changed: Callable[[], NDArray[np.bool_]],
) -> None:
    """Look at a write, and keep who wrote.

    `changed` gives which of the elements get another value than they have: two programs that write
    the same values are none that race.
    """
    memory = tensor.memory
    if memory.stamps is not None or issue.run.loops:
        iterations.note_write(issue, tensor, places, lanes)
    if not memory.shared or issue.run.programs < 2:
        return
    mine = issue.run.program + 1
    if memory.writers is None:
        memory.writers = np.zeros(memory.raw.size // memory.dtype.itemsize, np.int32)
    kept = tensor.of_elements(memory.writers, places)
    where: Any = True
    if places is None and lanes is not None:
        where = np.broadcast_to(lanes, kept.shape)
    if memory.readers is not None:
        own = where & ((kept == 0) | (kept == mine))
        readers = tensor.of_elements(memory.readers, places)
        _compare(issue, tensor, np.where(own, readers, 0), "writes", "reads")
    if ((kept != 0) & (kept != mine)).any():
        _compare(
            issue, tensor, np.where(where & _of_width(changed(), kept), kept, 0), "writes", "writes"
        )
    if places is None:
        np.copyto(kept, mine, where=where)
    else:
        memory.writers[places] = mine


def _of_width(changed: NDArray[np.bool_], kept: NDArray[np.int32]) -> NDArray[np.bool_] | bool:
    """Return what changed, element by element; all, where a view has elements of another width."""
    return changed if changed.shape == kept.shape else True


def _keep_reader(
    issue: "Issue",
    tensor: "Tensor",
    places: NDArray[np.int64] | None,
    lanes: NDArray[np.bool_] | None,
) -> None:
    """Keep the first program that reads elements: one that writes them later races with it."""
    memory = tensor.memory
    if memory.readers is None:
        memory.readers = np.zeros(memory.raw.size // memory.dtype.itemsize, np.int32)
    kept = tensor.of_elements(memory.readers, places)
    first = kept == 0
    if places is not None:
        memory.readers[places] = np.where(first, issue.run.program + 1, kept)
        return
    where = first if lanes is None else first & np.broadcast_to(lanes, kept.shape)
    np.copyto(kept, issue.run.program + 1, where=where)


def _compare(
    issue: "Issue", tensor: "Tensor", programs: NDArray[np.int32], verb: str, theirs: str
) -> None:
    """Find elements that another program wrote, or read."""
    mine = issue.run.program + 1
    other = (programs != 0) & (programs != mine)
    if not other.any():
        return
    lane = tuple(int(place) for place in np.argwhere(other)[0])
    program = int(programs[lane]) - 1
    name = tensor.memory.argument or tensor.memory.life.name or "shared device memory"
    text = f"program {mine - 1} {verb} elements of {name!r} that program {program} {theirs}"
    issue.find(
        RACE,
        text,
        access="load" if verb == "reads" else "store",
        lane=lane,
        lanes=int(other.sum()),
        argument=tensor.memory.argument,
        other_program=program,
    )
