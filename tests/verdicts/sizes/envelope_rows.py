"""Rows of an envelope by quantity and kind."""

from dataclasses import replace

from kvtrace.verdicts.sizes.envelope import envelope
from kvtrace.verdicts.sizes.launch_numbers import numbers_of
from kvtrace.verdicts.sizes.relations import Relations


def relations(first, *more, ties=(), outputs=()):
    numbers = [numbers_of(launch) for launch in more]
    return Relations(first, numbers, ties, outputs=frozenset(outputs))


def rows(first, *more, ties=()):
    return by_kind(envelope(relations(first, *more, ties=ties)))


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
