"""Random integer expressions against Python's integers: no proof is false, no finding either.

The program `tests.verdicts.overflow_oracle` runs as many as are wanted; these are some of them.
"""

from collections import Counter

import pytest

from tests.support.thorough import usually
from tests.verdicts.overflow_oracle import PATIENT, failures
from tests.verdicts.random_kernels import Kernel, Number, Point, Type

#: Kernels of which an address, a mask, a branch or a loop was once proven by numbers that wrapped.
FOUND_BEFORE = (
    8,
    20,
    102,
    119,
    139,
    140,
    149,
    160,
    184,
    243,
    505,
    526,
    536,
    538,
    10148,
    10295,
    20356,
    777146,
    900004,
)


#: The same where the solver has time: what it proves then is what a quicker machine proves.
FOUND_WITH_PATIENCE = (5500079, 6400084, 7100023)


@pytest.mark.parametrize("seed", FOUND_WITH_PATIENCE[:: usually(3, thorough=1)])
def test_no_false_proofs_with_unlimited_time(seed):
    assert list(failures(seed, Counter(), PATIENT)) == []


FOUND = FOUND_BEFORE[:: usually(14, thorough=1)]


@pytest.mark.sweep
@pytest.mark.parametrize("seeds", [FOUND, range(1000, 1000 + usually(2, thorough=12))])
def test_proofs_and_violations_agree_with_the_oracle(seeds):
    counts: Counter[str] = Counter()

    wrong = [text for seed in seeds for text in failures(seed, counts)]

    assert wrong == []
    assert counts["shows"] > counts["cases"] / 20
    assert counts["decided"] > counts["cases"] / 2


def test_numbers_are_wrapped_and_ideal_beside_each_other():
    kernel = Kernel(0, cases=0)
    point = Point(3, {"a": 2**31 - 1, "b": 1, "w": 5, "u": 2**32 - 1, "n": 0}, {})
    scalars = {value.ssa: value for value in kernel.scalars}
    total = kernel._binary(
        "arith.addi", [scalars["%a"], scalars["%b"]], lambda left, right: left + right
    )
    wide = kernel._cast(total, Type(64))
    back = kernel._cast(wide, Type(32))

    assert total.meaning(point) == [Number(2**31, -(2**31))]
    assert wide.meaning(point) == [Number(2**31, -(2**31))]
    assert back.meaning(point) == [Number(-(2**31), -(2**31))]
