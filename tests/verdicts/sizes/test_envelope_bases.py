"""The other sizes of a row: those of the recorded launch that leaves the narrowest range."""

import pytest

from kvtrace.verdicts.sizes.at_size import at_worst
from kvtrace.verdicts.sizes.envelope import envelope
from tests.backends.compiled_kernels import check_kernels
from tests.verdicts import promise_kernels as kernels
from tests.verdicts.calls import call, ids, tensor
from tests.verdicts.sizes.envelope_rows import relations


def tiles(rows, columns):
    return call(
        kernels.flat_tiles, (rows * -(-columns // 8),), x=tensor(rows, columns),
        out=tensor(rows, columns), rows=rows, columns=columns, BLOCK=8,
    )  # fmt: skip


TIES = ("grid_x = rows * cdiv(columns, 8)",)


def rows_of(*launches, ties=()):
    found = envelope(relations(*launches, ties=ties), calls=launches)
    return [row for row in found if row.first_bad]


@pytest.mark.costly("every order of launches; first bad sizes stay by day")
def test_the_first_bad_size_is_that_of_the_worst_launch_in_any_order():
    launches = tiles(5, 20), tiles(7, 20), tiles(5, 330)

    answers = {
        (row.quantity, row.first_bad, row.base, row.untried)
        for order in (launches, launches[::-1])
        for row in rows_of(*order, ties=TIES)
        if row.quantity == "rows"
    }

    assert answers == {("rows", 2**31 // 330 + 1, "columns = 330", 0)}
    (row,) = (row for row in rows_of(*launches, ties=TIES) if row.quantity == "rows")
    assert set(row.bases) == {"columns = 20", "columns = 330"}


def test_values_of_an_index_are_bounded_by_the_smallest_recorded_tensor():
    def gathered(room):
        return call(
            check_kernels.gather, (2,), x=tensor(room), index=ids(*range(20)), out=tensor(20), n=20,
            BLOCK=16,
        )  # fmt: skip

    launches = gathered(100), gathered(40)
    for order in (launches, launches[::-1]):
        (row,) = (row for row in rows_of(*order) if row.quantity == "values of index")
        assert (row.first_bad, row.contract) == (40, "0 <= values of index <= 39")


def test_given_sizes_are_judged_with_the_worst_of_the_other_sizes():
    launches = tiles(5, 20), tiles(7, 20), tiles(5, 330)

    for order in (launches, launches[::-1]):
        judged = at_worst(relations(*order, ties=TIES), {"rows": 2**31 // 330 + 1}, order)
        assert judged.base == "columns = 330"
        assert "overflow" in {v.rule for v in judged.verdicts if v.verdict == "violation"}
    assert (
        at_worst(relations(*launches, ties=TIES), {"rows": 9, "columns": 20}, launches).base == ""
    )
