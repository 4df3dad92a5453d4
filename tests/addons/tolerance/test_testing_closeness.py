"""`kvtrace.assert_close`: results compared by derived bounds, and what a difference comes from."""

import pytest
import torch

import kvtrace
from kvtrace.addons.tolerance.launched import NotDerived
from kvtrace.addons.tolerance.testing import NotClose
from tests.addons.tolerance.kernels import rows, softmax


@pytest.fixture(scope="module")
def derived():
    x, out = rows()
    return kvtrace.tolerance(softmax, x, out, 1000, grid=(8,), BLOCK=1024)


@pytest.fixture
def right():
    return torch.softmax(rows()[0].double(), -1)


def test_result_with_other_roundings_is_close(derived, right):
    kvtrace.assert_close(right.float(), derived)
    kvtrace.assert_close(right.float().numpy(), derived["out"])
    kvtrace.assert_close({"out": right.float()}, derived, bound="worst")


def test_wrong_element_is_reported_with_program_lane_and_line(derived, right):
    right[2, 17] += 3 * derived["out"].probable[2, 17]

    with pytest.raises(NotClose) as caught:
        kvtrace.assert_close(right, derived)

    (found,) = caught.value.differences
    assert (found.output, found.index, found.differing) == ("out", (2, 17), 1)
    assert found.bounds_away == pytest.approx(3, rel=1e-3)
    assert found.cause == "device"
    assert "program (2, 0, 0), lane (17,)" in found.place
    assert "kernels.py:" in found.place
    assert "1 of 8,000 elements of out are beyond" in str(caught.value)


def test_nan_is_never_close_to_a_number(derived, right):
    right[0, 0] = float("nan")
    with pytest.raises(NotClose, match="is nan where"):
        kvtrace.assert_close(right, derived)


def test_unknown_output_or_wrong_shape_is_an_error(derived, right):
    with pytest.raises(NotDerived, match="there is no output 'y', only out"):
        kvtrace.assert_close(right, derived, name="y")
    with pytest.raises(NotDerived, match="has the shape"):
        kvtrace.assert_close(right[:3], derived)
