"""Footprint of one memory op in one argument over a launch: sectors, bytes and addresses.

Accesses without conditions other than a box of lanes are counted from their formulas, for any size
of the grid (formula_counts.py); other accesses, and formulas mixed with them, on arrays of programs
and lanes (array_counts.py). Both are common: in a Llama recorded on an H200, half of the memory ops
are of each kind. They share the model of sectors (sectors.py), sets of bytes and the description of
accesses (access_records.py).
"""

from typing import Any, Protocol

from kvtrace.evaluate.observe import Access
from kvtrace.metrics.array_counts import ArrayCount
from kvtrace.metrics.formula_counts import FormulaCounts
from kvtrace.metrics.fresh_bytes import TouchedBytes
from kvtrace.recorded_calls.thread_layouts import BlockedLayout


class Count(Protocol):
    """The counts of an op in an argument; None if unknown.

    `limit` names the figures that are None because of a limit of kvtrace. `records` has the rows of
    `accesses`, and a text of what they leave out (None: nothing).
    """

    @property
    def sectors(self) -> int | None:
        """The sectors touched by each group of lanes, summed over groups."""

    @property
    def records(self) -> tuple[list[dict[str, Any]], str | None]:
        """The rows of `accesses`, and a text of what is left out (None: nothing)."""

    @property
    def limit(self) -> str | None:
        """A text that names the figures that are None because of a limit, else None."""

    def unique_bytes(self) -> int | None:
        """Return the number of distinct bytes of all accesses."""

    def touched(self, origin_bytes: int) -> TouchedBytes | None:
        """Return the touched bytes of the storage, in which the tensor begins at `origin_bytes`."""


class Footprint:
    """The accesses of one op to one argument.

    `layout` distributes the op's lanes to threads (None: unknown); `formula_counts` has
    the counts of the launch's other ops.
    """

    def __init__(
        self,
        element_bytes: int,
        layout: BlockedLayout | None = None,
        formula_counts: FormulaCounts | None = None,
    ) -> None:
        self._element_bytes = element_bytes
        self._layout = layout
        self._formula_counts = formula_counts or FormulaCounts()
        self._formulas: list[Access] = []
        self._arrays: ArrayCount | None = None
        self._count: Count | None = None

    def add(self, access: Access) -> None:
        """Add the accesses of a batch of programs, in one trip or in all trips of a formula."""
        if access.executions == 0 or access.active == 0:
            return
        self._count = None
        formula = access.formula
        if formula is not None and not formula.conditions and self._arrays is None:
            self._formulas.append(access)
            return
        self._array_count().add(access)

    def count(self) -> Count:
        """Return the counts of all accesses so far."""
        if self._count is None and self._formulas:
            formulas = [access.formula for access in self._formulas if access.formula is not None]
            self._count = self._formula_counts.of(formulas, self._element_bytes, self._layout)
        if self._count is None:
            self._count = arrays = self._array_count()
            arrays.close()
        return self._count

    def _array_count(self) -> ArrayCount:
        """Return the count on arrays, after moving the accesses with formulas to it."""
        if self._arrays is None:
            self._arrays = ArrayCount(self._element_bytes, self._layout)
            formulas, self._formulas = self._formulas, []
            for access in formulas:
                self._arrays.add(access)
        return self._arrays
