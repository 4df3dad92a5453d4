"""Footprint of one memory op in one argument over the whole launch: sectors, bytes, addresses.

Accesses without conditions other than a box of lanes are counted from their formulas, for any size
of the grid (formula_counts.py); other accesses, and formulas mixed with them, on arrays of programs
and lanes (array_counts.py). Both are needed: in a Llama recorded on an H200, half of the memory ops
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
    """The counts of an op in an argument; None if not known.

    `limit` says which figures are None because of a limit of kvtrace. `records` are the rows of
    `accesses`, and a text of what they leave out (None: nothing).
    """

    @property
    def sectors(self) -> int | None:
        """Sectors touched by each group of lanes, over all groups."""

    @property
    def records(self) -> tuple[list[dict[str, Any]], str | None]:
        """The rows of `accesses`, and what they leave out."""

    @property
    def limit(self) -> str | None:
        """The figures that are None because of a limit, as text."""

    def unique_bytes(self) -> int | None:
        """Return the number of distinct bytes of all accesses."""

    def touched(self, origin_bytes: int) -> TouchedBytes | None:
        """Return the bytes in the storage, where the tensor begins at `origin_bytes`."""


class Footprint:
    """The accesses of one op to one argument.

    `layout`: how the op's lanes are distributed to threads, None if not known; `formula_counts`:
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
        """Add a batch of programs, in one trip or in all trips of a formula."""
        if access.executions == 0 or access.active == 0:
            return
        self._count = None
        formula = access.formula
        if formula is not None and not formula.conditions and self._arrays is None:
            self._formulas.append(access)
            return
        self._on_arrays().add(access)

    def count(self) -> Count:
        """Return the counts of all accesses so far."""
        if self._count is None and self._formulas:
            formulas = [access.formula for access in self._formulas if access.formula is not None]
            self._count = self._formula_counts.of(formulas, self._element_bytes, self._layout)
        if self._count is None:
            self._count = arrays = self._on_arrays()
            arrays.close()
        return self._count

    def _on_arrays(self) -> ArrayCount:
        """Return the count on arrays, which also counts the formulas so far."""
        if self._arrays is None:
            self._arrays = ArrayCount(self._element_bytes, self._layout)
            formulas, self._formulas = self._formulas, []
            for access in formulas:
                self._arrays.add(access)
        return self._arrays
