"""Comparison of kernels by their look on the device, which decides what launches may match.

Name and grid are always compared. Block size and shared memory are compared if both sides know
them, unless executions of that name and grid have a value that no launch has: then the kernel was
compiled again for the other run, and launches are matched by name and grid alone. Registers are not
compared: a device reports allocated registers, for example 32 where the compiler says 24. For tools
without grids, such as Proton, only names are compared.
"""

from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

#: Number of looks that no launch has.
FOREIGN: Final = -1
#: Suffix that rocprof appends to function names.
_DESCRIPTOR: Final = ".kd"
_Place = tuple[str, tuple[int, int, int] | None]


class Look(NamedTuple):
    """Name, grid in blocks, threads per block, and bytes of shared memory; None where unknown."""

    name: str
    grid: tuple[int, int, int] | None
    block: int | None = None
    shared_bytes: int | None = None


@dataclass(slots=True)
class Numbers:
    """Numbers of looks; looks that cannot be distinguished share a number.

    Attributes: calls: Number by call. executions: Number by the position of an execution's look;
    FOREIGN if no launch has the look. uncertain: Numbers of kernels that were compiled differently
    for the executions, or whose grid the executions lack.
    """

    calls: dict[int, int] = field(default_factory=dict)
    executions: list[int] = field(default_factory=list)
    uncertain: set[int] = field(default_factory=set)


def numbered(calls: Mapping[int, Look], executions: Sequence[Look]) -> Numbers:
    """Return numbers of the looks of calls and executions, equal where they may be the same."""
    executions = [look._replace(name=look.name.removesuffix(_DESCRIPTOR)) for look in executions]
    gridless = {look.name for look in executions if look.grid is None}
    executions = [_without_grid(look, gridless) for look in executions]
    calls = {call: _without_grid(look, gridless) for call, look in calls.items()}
    launched, ran = _by_place(calls.values()), _by_place(executions)
    result, numbers = Numbers(), dict[Hashable, int]()
    compared = {}
    for place, looks in launched.items():
        pairs = [
            ({look[part] for look in looks}, {look[part] for look in ran.get(place, ())})
            for part in (2, 3)
        ]
        compared[place] = tuple(
            None not in own | other and other <= own if other else False for own, other in pairs
        )
    for call, look in calls.items():
        key = _key(look, compared[look[:2]])
        result.calls[call] = numbers.setdefault(key, len(numbers))
    for look in executions:
        compares = compared.get(look[:2])
        number = FOREIGN if compares is None else numbers.get(_key(look, compares), FOREIGN)
        result.executions.append(number)
    for place, looks in ran.items():
        if place in launched and (place[1] is None or _differs(launched[place], looks)):
            result.uncertain.update(
                numbers[_key(look, compared[place])] for look in launched[place]
            )
    return result


def _without_grid(look: Look, names: Container[str]) -> Look:
    return look._replace(grid=None) if look.name in names else look


def _by_place(looks: Iterable[Look]) -> dict[_Place, set[Look]]:
    by_place: dict[_Place, set[Look]] = {}
    for look in looks:
        by_place.setdefault((look.name, look.grid), set()).add(look)
    return by_place


def _key(look: Look, compared: tuple[bool, ...]) -> Hashable:
    rest = (value if used else None for value, used in zip(look[2:], compared, strict=True))
    return (*look[:2], *rest)


def _differs(launched: set[Look], ran: set[Look]) -> bool:
    """Return whether some execution's block size or shared memory is that of no launch."""
    for part in (2, 3):
        own, other = ({look[part] for look in looks} for looks in (launched, ran))
        if None not in own | other and not other <= own:
            return True
    return False
