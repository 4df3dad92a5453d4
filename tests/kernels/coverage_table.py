"""Tables of what of the language is tested, made from marks alone: no torch, no Triton."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from tests.kernels.case import DTYPES

TESTED, UNDEFINED, MISSING = "✓", "u", "✗"

Cells = Mapping[tuple[str, str], str]


def cells_of(cases: Iterable[tuple[str, str, bool, bool]]) -> dict[tuple[str, str], str]:
    """Return marks by op and type, from (op, type, undefined in Triton, passed) of each case."""
    cells: dict[tuple[str, str], str] = {}
    order = [UNDEFINED, TESTED, MISSING]
    for op, dtype, undefined, passed in cases:
        mark = MISSING if not passed else UNDEFINED if undefined else TESTED
        cells[op, dtype] = max(cells.get((op, dtype), UNDEFINED), mark, key=order.index)
    return cells


def rows_of(cells: Cells, *, library: bool) -> list[str]:
    """Return the ops in the order of the catalog."""
    ops = dict.fromkeys(op for op, _ in cells if op.startswith("libdevice.") is library)
    return list(ops)


def plain_table(cells: Cells) -> list[str]:
    """Return the table for a terminal, with one character per type."""
    heads = " ".join(f"{dtype[:7]:>7}" for dtype in DTYPES)
    lines = [f"{'op':24} {heads}"]
    for op in rows_of(cells, library=False):
        marks = " ".join(f"{cells.get((op, dtype), ''):>7}" for dtype in DTYPES)
        lines.append(f"{op[:24]:24} {marks}")
    library: dict[str, int] = defaultdict(int)
    for (op, _), mark in cells.items():
        if op.startswith("libdevice."):
            library[mark] += 1
    counts = ", ".join(f"{count} {mark}" for mark, count in library.items())
    lines.append(f"libdevice: {len(rows_of(cells, library=True))} functions; cells: {counts}")
    return lines
