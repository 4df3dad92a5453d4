"""Which other tensor of a call lies nearest to an address, where that is known."""

from __future__ import annotations

from collections.abc import Sequence

from kvtrace.evaluate import Argument, TensorArgument
from kvtrace.text import plural


def nearest_tensor(arguments: Sequence[Argument], index: int, address_offset: int) -> str | None:
    """Describe which tensor lies nearest to a byte offset from an argument's data pointer.

    Known are places of tensors in the same storage only: where storages lie was not recorded.
    """
    accessed = arguments[index]
    assert isinstance(accessed, TensorArgument)
    place = accessed.offset_bytes + address_offset
    found = []
    for position, other in enumerate(arguments):
        if position == index or not isinstance(other, TensorArgument):
            continue
        if other.storage is not accessed.storage:
            continue
        first, end = (other.offset_bytes + limit for limit in other.view_bytes)
        before, behind = max(first - place, 0), max(place - end + 1, 0)
        found.append((max(before, behind), position, other.name, before, behind, place - first))
    if not found:
        return None
    _, _, name, before, behind, inside = min(found)
    if before:
        return f"{name}, {plural(before, 'byte')} further on"
    if behind:
        return f"{name}, {plural(behind, 'byte')} past its end"
    return f"{name}, {plural(inside, 'byte')} into it"
