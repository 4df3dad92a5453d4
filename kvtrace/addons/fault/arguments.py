"""Arguments of a launch that addresses are of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kvtrace.evaluate.types import element_of_short_name

if TYPE_CHECKING:
    from kvtrace.addons.fault.matching import Match


@dataclass(frozen=True, slots=True)
class Argument:
    """The argument that an address is of.

    Attributes:
        name: the kernel's parameter.
        element: the index of the element at the address, from the data pointer; None: the address
            is not known.
        elements: elements from the data pointer to the end of its storage; None: not recorded.
        past_end: bytes from the end of the storage to the address; negative: it lies before that.
        before: bytes from the address to the start of the storage, if it lies before that.
    """

    name: str
    element: int | None
    elements: int | None
    past_end: int | None
    before: int | None

    @property
    def is_inside(self) -> bool:
        """The address lies within the argument's storage, as it was recorded."""
        return self.past_end is not None and self.past_end < 0 and self.before is None


def argument_named(address: int | None, match: Match, name: str | None) -> Argument | None:
    """Return the place of an address in the argument with a name; None: there is none."""
    for parameter, arg in zip(match.parameters, match.call["args"], strict=True):
        if arg["name"] == name:
            return _place_in(address, parameter, arg)
    return None


def nearest_argument(address: int | None, match: Match) -> Argument | None:
    """Return the tensor whose storage is nearest to an address; None: the address is not known."""
    if address is None:
        return None
    tensors = [
        _place_in(address, parameter, arg)
        for parameter, arg in zip(match.parameters, match.call["args"], strict=True)
        if arg["kind"] == "tensor" and parameter is not None
    ]
    return min(tensors, key=_distance, default=None)


def _distance(argument: Argument) -> int:
    if argument.before is not None:
        return argument.before
    return 1 << 64 if argument.past_end is None else max(argument.past_end, 0)


def _place_in(
    address: int | None, parameter: int | float | None, arg: Mapping[str, Any]
) -> Argument:
    storage, offset, dtype = arg["storage_bytes"], arg["offset_bytes"], arg["dtype"]
    size = element_of_short_name(dtype).bytes if dtype else 1
    elements = None if storage is None or offset is None else (storage - offset) // size
    if address is None or parameter is None:
        return Argument(arg["name"], None, elements, None, None)
    distance = address - int(parameter)
    if offset is None or storage is None:
        return Argument(arg["name"], distance // size, None, None, None)
    before = -(distance + offset) if distance + offset < 0 else None
    return Argument(arg["name"], distance // size, elements, distance + offset - storage, before)
