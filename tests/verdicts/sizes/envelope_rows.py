"""Rows of an envelope by quantity and kind."""

from kvtrace.verdicts.sizes.envelope import envelope
from kvtrace.verdicts.sizes.growth import Relations
from kvtrace.verdicts.sizes.launch_numbers import numbers_of


def rows(first, *more):
    found = envelope(Relations(first, [numbers_of(each) for each in more]))
    return {(row.quantity, row.kind): row for row in found}
