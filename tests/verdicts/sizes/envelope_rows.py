"""Rows of an envelope by quantity and kind."""

from kvtrace.verdicts.sizes.envelope import envelope
from kvtrace.verdicts.sizes.launch_numbers import numbers_of
from kvtrace.verdicts.sizes.relations import Relations


def relations(first, *more, ties=()):
    return Relations(first, [numbers_of(launch) for launch in more], ties)


def rows(first, *more, ties=()):
    found = envelope(relations(first, *more, ties=ties))
    return {(row.quantity, row.kind): row for row in found}
