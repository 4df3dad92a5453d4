"""Which ops an address, a mask and an execution are made of."""

from kvtrace.verdicts.feeding import feeding
from tests.passes import kernels as older
from tests.verdicts import bounds_kernels as kernels
from tests.verdicts import zero_kernels
from tests.verdicts.calls import call, tensor


def fed(one, kind, number=0):
    """Names of the ops that feed the access of a kind and number."""
    access = [op for op in one.module.ops if op.name == kind][number]
    return {one.module.ops[index].name for index in feeding(access, one.module)}


def test_an_address_is_made_of_its_arithmetic_and_its_mask():
    one = call(older.copy, (4,), source=tensor(9), result=tensor(9), size=9, BLOCK=16)

    assert {"tt.get_program_id", "arith.muli", "arith.addi", "arith.cmpi"} <= fed(one, "tt.load")


def test_what_is_stored_feeds_no_address():
    one = call(older.copy, (4,), source=tensor(9), result=tensor(9), size=9, BLOCK=16)

    assert "tt.load" not in fed(one, "tt.store")


def test_it_ends_at_loads():
    """An index that is loaded is no arithmetic: its own address is not followed."""
    chosen = tensor(32, dtype="i32")
    table, result = tensor(40, 24), tensor(32, 24)
    one = call(
        kernels.rows_of, (8,), table=table, ids=chosen, result=result, width=24, WIDTH=32, ROWS=4
    )

    assert "tt.load" in fed(one, "tt.load", 1)
    assert "tt.load" not in fed(one, "tt.load", 0)


def test_a_loops_bounds_feed_what_is_in_it():
    counts = tensor(4, dtype="i32")
    one = call(
        kernels.sum_until, (4,), counts=counts, source=tensor(24), result=tensor(32), BLOCK=8
    )

    assert "tt.load" in fed(one, "tt.load", 1)
    assert "tt.load" not in fed(one, "tt.store")


def test_a_return_decides_what_comes_after_it_and_nothing_before():
    one = call(
        zero_kernels.gather_or_return, (3,), starts=tensor(4, dtype="i32"), table=tensor(5),
        result=tensor(3),
    )  # fmt: skip

    assert "arith.cmpi" not in fed(one, "tt.load", 2)
    assert "arith.cmpi" in fed(one, "tt.load", 3)
    assert "arith.cmpi" not in fed(one, "tt.store", 0)
    assert "arith.cmpi" in fed(one, "tt.store", 1)


def test_of_what_a_loop_carries_only_what_is_asked_for_feeds():
    """The sum that is carried beside it decides no address."""
    one = call(
        kernels.counted_rows, (2,), rows=tensor(8, dtype="i32"), table=tensor(64),
        result=tensor(2), count=4, WIDTH=8,
    )  # fmt: skip

    for access in ("tt.load", "tt.store"):
        assert "arith.muli" in fed(one, access)
        assert "arith.cmpi" in fed(one, access)
        assert "arith.addf" not in fed(one, access)
