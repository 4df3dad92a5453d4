"""Random kernels of a fixed seed; `python -m tests.addons.neuron.fuzz` runs more of them."""

import random

import pytest

from tests.addons.neuron import fuzz
from tests.support.thorough import usually


def test_random_kernels_equal_numpy() -> None:
    kinds, wrong = fuzz.fuzz(usually(150, thorough=2000), seed=20)

    assert wrong == []
    assert set(kinds) == set(fuzz.KINDS)


@pytest.mark.parametrize("interface", fuzz.INTERFACES)
def test_the_fuzzer_detects_a_wrong_value(interface: str) -> None:
    arrays, steps = fuzz.program(random.Random(1))
    assert fuzz.outcome(interface, arrays, steps) == "right"

    steps[3].values.flat[0] += 1

    assert fuzz.outcome(interface, arrays, steps) == "step 3 is wrong"
