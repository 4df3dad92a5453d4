"""Shifts by a size: undefined below 0, where no range is searched, and from the width on."""

import triton
import triton.language as tl

from kvtrace.verdicts.sizes.at_size import at_size
from kvtrace.verdicts.sizes.launch_numbers import numbers_of
from kvtrace.verdicts.sizes.relations import Relations
from tests.verdicts.calls import call, tensor
from tests.verdicts.sizes.envelope_rows import program, relations, stated_rows


@triton.jit
def level_of_tree(x, y, level):
    tl.store(y, tl.load(x + (1 << level)))


@triton.jit
def level_above(x, y, level):
    tl.store(y, tl.load(x + (1000 >> level)))


@triton.jit
def kept_level(x, y, level):
    if level >= 0:  # noqa: SIM102 - two branches
        if level < 9:
            tl.store(y, tl.load(x + (1 << level)))


@triton.jit
def nothing_shifted(x, y):
    p = tl.program_id(0)
    tl.store(y + p, tl.load(x + ((p * 0) << p) // 100))


@triton.jit
def guarded_level(x, y, level):
    if (7 << level) < 600:
        tl.store(y, tl.load(x))


def stated(launch):
    return relations(launch, ties=program(launch))


def levels(kernel, level=5):
    return call(kernel, (1,), x=tensor(1001), y=tensor(1), level=level)


def test_a_shift_by_the_width_is_not_proven():
    """The result of such a shift is undefined, whatever a device makes of it."""
    for kernel, fine in ((level_of_tree, (0, 9)), (level_above, (0, 31)), (guarded_level, (0, 28))):
        (row,) = (
            row
            for (quantity, kind), row in stated_rows(levels(kernel)).items()
            if quantity == "level" and row.fine
        )

        assert row.fine == fine, kernel


def test_a_launch_whose_shift_is_undefined_is_a_finding_at_that_size():
    for level, answers in ((9, {"proven"}), (-1, {"proven", "unknown", "violation"})):
        verdicts = at_size(stated(levels(level_above)), {"level": level}).verdicts

        assert {each.verdict for each in verdicts} == answers
        texts = [each.reason for each in verdicts if each.verdict == "unknown"]
        assert all("shift by less than 0" in text for text in texts)


def test_a_shift_that_is_not_reached_at_a_size_does_not_count():
    (row,) = stated_rows(levels(kept_level)).values()

    assert (row.fine[0], row.below) == (0, "")


def test_a_shift_of_nothing_is_undefined_as_well():
    """Zero shifted by any number is zero, so no formula keeps the shift; its own check does."""
    launches = (call(nothing_shifted, (n,), x=tensor(100), y=tensor(n)) for n in (5, 9))
    found = stated_rows(*launches)

    (row,) = found.values()
    assert row.fine[1] == 32
    assert row.reason.endswith(" shifts by less than its width is not decided at 33")


@triton.jit
def before(x, y, n):
    tl.store(y, tl.load(x + (n - 2) // 4))


@triton.jit
def remainder_before(x, y, n):
    tl.store(y, tl.load(x + (n - 2) % 4))


@triton.jit
def rounded_up(x, y, n):
    tl.store(y, tl.load(x + (n + 3) // 4))


@triton.jit
def of_programs(x, y, n):
    tl.store(y, tl.load(x + (tl.program_id(0) + n - 2) // 4))


def test_a_quotient_below_zero_is_not_proven_at_one_which_triton_compiles_as_a_constant():
    """Of constants -1 // 4 is -1 and -1 % 4 is 3, of numbers in compiled code 0 and -1."""
    for kernel in (before, remainder_before):
        (row,) = (row for row in stated_rows(levels_of(kernel)).values() if row.fine)

        assert row.fine[0] == 2, kernel
        assert "is the same if 1 is compiled as a constant is not decided at 1" in row.below
        reasons = [v.reason or "" for v in at_size(stated(levels_of(kernel)), {"n": 1}).verdicts]
        assert any("of constants is rounded down" in reason for reason in reasons)


def test_a_quotient_that_is_positive_or_of_no_constants_is_proven_at_one():
    for kernel in (rounded_up, of_programs):
        verdicts = at_size(stated(levels_of(kernel)), {"n": 1}).verdicts

        assert {verdict.verdict for verdict in verdicts} == {"proven"}, kernel


def levels_of(kernel):
    return call(kernel, (1,), x=tensor(100), y=tensor(1), n=6)


def test_a_number_that_another_launch_lacks_is_none_that_follows():
    """One launch of a variant may have a constant instead of an argument of the other."""
    with_size = levels_of(rounded_up)
    numbers = {n: v for n, v in numbers_of(with_size).items() if n[0] != "scalar"}
    own = Relations(with_size, [numbers], program(with_size))

    assert own.at({}).terms["scalar", 2, 0] == 6
    assert [v.verdict for v in at_size(own, {"n": 1}).verdicts if v.verdict != "proven"] == []
