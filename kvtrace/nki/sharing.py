"""Who wrote an element: what two programs both touch, and what iterations of a loop carry over.

Programs of a grid run at the same time on the machine, and so may iterations of `affine_range`;
here they run one after the other, which is why both have to be looked for.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.nki import iterations
from kvtrace.nki.findings import RACE

if TYPE_CHECKING:
    from kvtrace.nki.operations import Issue
    from kvtrace.nki.tensors import Tensor


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
    if memory.writers is None:
        return
    writers = _kept(tensor, memory.writers, places)
    if lanes is not None and places is None:
        writers = np.where(np.broadcast_to(lanes, writers.shape), writers, 0)
    _compare(issue, tensor, writers, "load")


def note_write(
    issue: "Issue",
    tensor: "Tensor",
    places: NDArray[np.int64] | None,
    lanes: NDArray[np.bool_] | None,
) -> None:
    """Look at a write, and keep who wrote."""
    memory = tensor.memory
    if memory.stamps is not None or issue.run.loops:
        iterations.note_write(issue, tensor, places, lanes)
    if not memory.shared or issue.run.programs < 2:
        return
    if memory.writers is None:
        memory.writers = np.zeros(memory.raw.size // memory.dtype.itemsize, np.int32)
    kept = _kept(tensor, memory.writers, places)
    if places is None and lanes is not None:
        where = np.broadcast_to(lanes, kept.shape)
        _compare(issue, tensor, np.where(where, kept, 0), "store")
        np.copyto(kept, issue.run.program + 1, where=where)
        return
    _compare(issue, tensor, kept, "store")
    if places is None:
        kept[...] = issue.run.program + 1
    else:
        memory.writers[places] = issue.run.program + 1


def _kept(tensor: "Tensor", kept: NDArray[Any], places: NDArray[np.int64] | None) -> NDArray[Any]:
    return tensor.of_elements(kept) if places is None else kept[places]


def _compare(issue: "Issue", tensor: "Tensor", writers: NDArray[np.int32], access: str) -> None:
    """Find elements that another program wrote."""
    mine = issue.run.program + 1
    other = (writers != 0) & (writers != mine)
    if not other.any():
        return
    lane = tuple(int(place) for place in np.argwhere(other)[0])
    program = int(writers[lane]) - 1
    name = tensor.memory.argument or tensor.memory.life.name or "shared device memory"
    verb = "reads" if access == "load" else "writes"
    text = f"program {mine - 1} {verb} elements of {name!r} that program {program} writes"
    issue.find(
        RACE,
        text,
        access=access,
        lane=lane,
        lanes=int(other.sum()),
        argument=tensor.memory.argument,
        other_program=program,
    )
