"""Results that share memory, and the bytes between a view's elements."""

import numpy as np

from kvtrace.addons.judge.outcomes import _bytes_outside, _shared_results
from kvtrace.inputs.cases import Case, TensorInput, whole_tensor

CASE = Case("a case", "given", (whole_tensor("x", "float32", (4,)),))


def view(storage, offset=0):
    return {"storage": storage, "offset": offset, "shape": [2], "strides": [1]}


def test_result_that_is_an_input_or_another_result_is_a_defect():
    messages = [
        defect.message for defect in _shared_results([view(0), view(1000), view(1000)], CASE, [])
    ]
    assert [text.partition(":")[0] for text in messages] == [
        "result 0 is the memory of the input x",
        "result 2 is the memory of result 1",
    ]
    assert _shared_results([view(0)], CASE, ["x"]) == []  # the reference writes to it, too
    assert _shared_results([view(1000), view(1000, 2), {"value": 3}], CASE, []) == []


def test_bytes_outside_of_a_view_lie_between_its_elements():
    tensor = TensorInput("x", "int16", (2, 2), (4, 2), 1, 8)
    outside = _bytes_outside(tensor, 16).reshape(8, 2)
    assert np.flatnonzero(~outside[:, 0]).tolist() == [1, 3, 5, 7]
    assert (outside[:, 0] == outside[:, 1]).all()
