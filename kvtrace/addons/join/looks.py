"""Looks: the properties of a kernel's launch that a device reports, by which launches are matched.

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
_NameAndGrid = tuple[str, tuple[int, int, int] | None]


class Look(NamedTuple):
    """Name, grid in blocks, threads per block, and bytes of shared memory; None where unknown."""

    name: str
    grid: tuple[int, int, int] | None
    block: int | None = None
    shared_bytes: int | None = None


@dataclass(slots=True)
class LookNumbers:
    """Numbers of looks; looks that cannot be distinguished share a number.

    Attributes:
        calls: The number of each call's look, by call id.
        executions: The number of each execution's look, in order; FOREIGN if no launch has it.
        uncertain: Numbers of kernels that were compiled differently for the executions, or
            whose grid the executions lack.
    """

    calls: dict[int, int] = field(default_factory=dict)
    executions: list[int] = field(default_factory=list)
    uncertain: set[int] = field(default_factory=set)


def number_looks(calls: Mapping[int, Look], executions: Sequence[Look]) -> LookNumbers:
    """Number the looks of calls and executions; a call and its executions get equal numbers."""
    executions = [look._replace(name=look.name.removesuffix(_DESCRIPTOR)) for look in executions]
    gridless = {look.name for look in executions if look.grid is None}
    executions = [_without_grid(look, gridless) for look in executions]
    calls = {call: _without_grid(look, gridless) for call, look in calls.items()}
    launched, executed = _by_name_and_grid(calls.values()), _by_name_and_grid(executions)
    result, number_by_look = LookNumbers(), dict[Hashable, int]()
    compared = {}
    for name_and_grid, looks in launched.items():
        values_of_sides = [
            (
                {look[index] for look in looks},
                {look[index] for look in executed.get(name_and_grid, ())},
            )
            for index in (2, 3)
        ]
        compared[name_and_grid] = tuple(
            None not in launch_values | values and values <= launch_values if values else False
            for launch_values, values in values_of_sides
        )
    for call, look in calls.items():
        key = _compared_look(look, compared[look[:2]])
        result.calls[call] = number_by_look.setdefault(key, len(number_by_look))
    for look in executions:
        compares = compared.get(look[:2])
        number = (
            FOREIGN
            if compares is None
            else number_by_look.get(_compared_look(look, compares), FOREIGN)
        )
        result.executions.append(number)
    for name_and_grid, looks in executed.items():
        if name_and_grid in launched and (
            name_and_grid[1] is None or _was_compiled_again(launched[name_and_grid], looks)
        ):
            result.uncertain.update(
                number_by_look[_compared_look(look, compared[name_and_grid])]
                for look in launched[name_and_grid]
            )
    return result


def _without_grid(look: Look, names: Container[str]) -> Look:
    return look._replace(grid=None) if look.name in names else look


def _by_name_and_grid(looks: Iterable[Look]) -> dict[_NameAndGrid, set[Look]]:
    looks_by_name_and_grid: dict[_NameAndGrid, set[Look]] = {}
    for look in looks:
        looks_by_name_and_grid.setdefault((look.name, look.grid), set()).add(look)
    return looks_by_name_and_grid


def _compared_look(look: Look, compared: tuple[bool, ...]) -> Hashable:
    compared_values = (
        value if is_compared else None
        for value, is_compared in zip(look[2:], compared, strict=True)
    )
    return (*look[:2], *compared_values)


def _was_compiled_again(launched: set[Look], executed: set[Look]) -> bool:
    """Return whether an execution has a block size or shared memory that no launch has."""
    for index in (2, 3):
        launch_values, values = ({look[index] for look in looks} for looks in (launched, executed))
        if None not in launch_values | values and not values <= launch_values:
            return True
    return False
