"""Shifts by a size: undefined below 0, and from the width on."""

import triton
import triton.language as tl

from kvtrace.verdicts.ranges.at_size import at_size
from kvtrace.verdicts.ranges.growth import Relations
from kvtrace.verdicts.ranges.sized_claims import rules_of_sizes
from tests.verdicts.calls import call, tensor
from tests.verdicts.ranges.envelope_rows import rows


@triton.jit
def level_of_tree(x, y, level):
    tl.store(y, tl.load(x + (1 << level)))


@triton.jit
def level_above(x, y, level):
    tl.store(y, tl.load(x + (1000 >> level)))


@triton.jit
def guarded_level(x, y, level):
    if (7 << level) < 600:
        tl.store(y, tl.load(x))


def levels(kernel, level=5):
    return call(kernel, (1,), x=tensor(1001), y=tensor(1), level=level)


def test_a_shift_by_a_negative_number_or_the_width_is_not_proven():
    """Devices give 0 or the sign; the compiler may take any number."""
    for kernel, fine in ((level_of_tree, (0, 9)), (level_above, (0, 31)), (guarded_level, (0, 28))):
        (row,) = (
            row
            for (quantity, kind), row in rows(levels(kernel)).items()
            if quantity == "level" and row.fine
        )

        assert row.fine == fine, kernel
        assert row.below.startswith("whether integers of the "), kernel
        assert row.below_kind == "unknown"


def test_a_launch_whose_shift_is_undefined_is_unknown_at_that_size():
    for level, answers in ((9, {"proven"}), (-1, {"proven", "unknown"})):
        verdicts = at_size(
            Relations(levels(level_above)), {"level": level}, rules_of_sizes()
        ).verdicts

        assert {each.verdict for each in verdicts} == answers
        texts = [each.reason for each in verdicts if each.verdict == "unknown"]
        assert all("shifted by less than 0" in text for text in texts)
