"""What kernels of a suite's calls read and write, and in which form others are handed storages."""

import pytest

from kvtrace.addons.suite.exports.calls import read_calls
from kvtrace.addons.suite.model import BadSuite, read_index


def first_call(folder):
    return next(read_calls(read_index(folder), folder))


def test_a_call_knows_what_its_kernel_reads_and_writes(training):
    call = first_call(training)
    assert call.data.kernel == "layer_norm_forward"
    assert {s.name: (s.shape, s.read, s.written) for s in call.used} == {
        "x": ((198, 60), True, False),
        "weight": ((60,), True, False),
        "bias": ((60,), True, False),
        "out": ((198, 60), False, True),
        "mean_out": ((198,), False, True),
        "inverse_out": ((198,), False, True),
    }
    assert call.scalars == {"columns": 60, "epsilon": 1e-05}
    assert call.source.startswith("import triton")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(198, 60), (60, 1), 0)", "(198, 60), (1, 198), 0)"),
        ("Storage(47520, 'float32')", "Storage(47524, 'float32')"),
        ("Tensor('weight', 'float32', (60,)", "Tensor('x', 'float32', (60,)"),
    ],
    ids=["strided", "a part of its storage", "shared"],
)
def test_a_storage_that_no_tensor_fills_is_handed_over_as_its_elements(changed, old, new):
    x = first_call(changed((old, new))).used[0]
    assert not x.tensor
    assert x.shape == (x.memory.nbytes // 4,)


def test_numbers_are_read_as_python_writes_them(changed):
    folder = changed(("'epsilon': 1e-05", "'epsilon': float('-inf')"), ("60,\n", "True,\n"))
    assert first_call(folder).scalars == {"columns": True, "epsilon": float("-inf")}


def test_a_call_without_its_data_is_refused(changed):
    with pytest.raises(BadSuite, match="is no call of a suite"):
        first_call(changed(("CALL =", "OTHER =")))
