"""Rows of an envelope by quantity and kind."""

from kvtrace.verdicts.ranges.envelope import envelope
from kvtrace.verdicts.ranges.growth import Relations
from kvtrace.verdicts.ranges.launch_numbers import numbers_of


def rows(first, *more):
    found = envelope(Relations(first, [numbers_of(each) for each in more]))
    return {(row.quantity, row.kind): row for row in found}
