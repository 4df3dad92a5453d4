"""Rows of an envelope by quantity and kind."""

from kvtrace.verdicts.sizes.envelope import envelope
from kvtrace.verdicts.sizes.launch_numbers import name_of, numbers_of
from kvtrace.verdicts.sizes.relations import Relations
from tests.support.replacing import replace


def relations(first, *more, ties=(), outputs=()):
    numbers = [numbers_of(launch) for launch in more]
    return Relations(first, numbers, ties, outputs=frozenset(outputs))


def rows(first, *more, ties=()):
    return by_kind(envelope(relations(first, *more, ties=ties)))


def program(first, *more, blocks=()):
    """Return ties as a program's text states them that launches what is given.

    Extents and grids are constants, arguments or, of the axes x, y and z, blocks of one of these.
    """
    launches = [numbers_of(launch) for launch in (first, *more)]
    values = {name_of(n, first): tuple(one[n] for one in launches) for n in launches[0]}
    sizes = [name for name in values if ".stride" not in name and "grid_" not in name]
    scalars = sorted((name for name in sizes if "." not in name), key=lambda n: "stride" in n)
    sizes = [*scalars, *(name for name in sizes if "." in name)]
    ties: dict[str, str] = {}
    for name in sizes:
        equal = [n for n in scalars if values[n] == values[name] and min(values[n]) > 1]
        is_same = len(set(values[name])) == 1 and name not in scalars
        ties.setdefault(name, equal[0] if equal else str(values[name][0]) if is_same else name)
    for axis, block in zip("xyz", (*blocks, 1, 1, 1), strict=False):
        name = f"grid_{axis}"
        fitting = (n for n in sizes if tuple(-(-v // block) for v in values[n]) == values[name])
        base = next((n for n in fitting if len(set(values[n])) > 1), None)
        ties[name] = f"cdiv({base}, {block})" if base else str(values[name][0])
    return [f"{name} = {tie}" for name, tie in ties.items()]


def stated_rows(first, *more, blocks=()):
    """Return the rows of launches by a program whose text states extents and grids."""
    return rows(first, *more, ties=program(first, *more, blocks=blocks))


def by_kind(found):
    """Return rows by quantity and kind; a wrap after another bad value is a row of its own here."""
    wraps = [
        replace(
            row,
            kind="overflow",
            first_bad=row.wraps_from,
            what=row.wrap,
            low=None,
            high=None,
            contract=None,
        )
        for row in found
        if row.wraps_from is not None
    ]
    return {(row.quantity, row.kind): row for row in (*wraps, *found)}
