"""Memory of operands is used again only where nothing else refers to an operand."""

import numpy as np
import pytest

from kvtrace.evaluate.reuse import InPlace


@pytest.mark.parametrize("is_held", [False, True])
def test_an_operand_that_something_else_refers_to_keeps_its_memory(is_held):
    values = [np.ones((4, 4096)), np.ones((4, 4096))]
    holder = [values[0]] if is_held else []
    operands = [values[position] for position in (0, 1)]
    result = InPlace(np.add, (0,), np.dtype(np.float64)).result(values, [0, 1], operands)
    assert (result is None) == is_held
    assert all((array == 1).all() for array in holder)
