"""What a kernel looks like on the device: the one definition of which launches it may come from.

Name and grid are always compared. Block size and shared memory are compared where both sides know
them, unless the executions of that name and grid have a value that no launch has: then the kernel
was compiled again for the other run, and its launches are known by name and grid alone. Registers
are not compared: a device reports those that it allocates, 16 or 32 where the compiler says 24.
Of a tool that knows no grids, such as Proton, only names are compared.
"""

from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

#: Instead of a look's number: no launch looks like that.
FOREIGN: Final = -1
#: What rocprof appends to the name of a function.
_DESCRIPTOR: Final = ".kd"
_Place = tuple[str, tuple[int, int, int] | None]


class Look(NamedTuple):
    """Name and grid in blocks; threads of a block, and bytes of its shared memory.

    None where that is not known.
    """

    name: str
    grid: tuple[int, int, int] | None
    block: int | None = None
    shared_bytes: int | None = None


@dataclass(slots=True)
class Numbers:
    """Looks that cannot be distinguished have one number.

    Attributes:
        calls: By call.
        executions: By the position of an execution's look; FOREIGN where no launch has it.
        uncertain: Numbers of kernels that were compiled differently for the executions, or whose
            grid these do not say.

    """

    calls: dict[int, int] = field(default_factory=dict)
    executions: list[int] = field(default_factory=list)
    uncertain: set[int] = field(default_factory=set)


def numbered(calls: Mapping[int, Look], executions: Sequence[Look]) -> Numbers:
    """Number the looks of calls and of executions, alike where they may be the same."""
    executions = [look._replace(name=look.name.removesuffix(_DESCRIPTOR)) for look in executions]
    gridless = {look.name for look in executions if look.grid is None}
    executions = [_without_grid(look, gridless) for look in executions]
    calls = {call: _without_grid(look, gridless) for call, look in calls.items()}
    launched, ran = _by_place(calls.values()), _by_place(executions)
    found, known = Numbers(), dict[Hashable, int]()
    compared = {}
    for place, looks in launched.items():
        pairs = [
            ({each[part] for each in looks}, {each[part] for each in ran.get(place, ())})
            for part in (2, 3)
        ]
        compared[place] = tuple(
            None not in own | other and other <= own if other else False for own, other in pairs
        )
    for call, look in calls.items():
        key = _key(look, compared[look[:2]])
        found.calls[call] = known.setdefault(key, len(known))
    for look in executions:
        compares = compared.get(look[:2])
        number = FOREIGN if compares is None else known.get(_key(look, compares), FOREIGN)
        found.executions.append(number)
    for place, looks in ran.items():
        if place in launched and (place[1] is None or _differs(launched[place], looks)):
            own = (known[_key(each, compared[place])] for each in launched[place])
            found.uncertain.update(own)
    return found


def _without_grid(look: Look, names: Container[str]) -> Look:
    return look._replace(grid=None) if look.name in names else look


def _by_place(looks: Iterable[Look]) -> dict[_Place, set[Look]]:
    found: dict[_Place, set[Look]] = {}
    for look in looks:
        found.setdefault((look.name, look.grid), set()).add(look)
    return found


def _key(look: Look, compared: tuple[bool, ...]) -> Hashable:
    rest = (value if used else None for value, used in zip(look[2:], compared, strict=True))
    return (*look[:2], *rest)


def _differs(launched: set[Look], ran: set[Look]) -> bool:
    """Whether block size or shared memory of an execution are those of no launch."""
    for part in (2, 3):
        own, other = ({each[part] for each in looks} for looks in (launched, ran))
        if None not in own | other and not other <= own:
            return True
    return False
