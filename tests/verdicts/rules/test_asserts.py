"""Assertions of the kernel's own: what an unknown one says would decide it."""

import triton
import triton.language as tl

from kvtrace.verdicts.judge import judge
from tests.verdicts.calls import call, tensor


@triton.jit
def checked(source, result, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    values = tl.load(source + index)
    tl.device_assert(values < 1, "too large")
    tl.store(result + index, values)


def asserted(dtype):
    one = call(
        checked, (1,), debug=True, source=tensor(16, dtype=dtype), result=tensor(16, dtype=dtype),
        BLOCK=16,
    )  # fmt: skip
    (found,) = judge(one, ["device-assert"])
    return found


def test_an_unrecorded_float_tensor_needs_the_setting_all():
    found = asserted("fp32")
    assert found.verdict == "unknown"
    assert "contents of source, which were not recorded (set KVTRACE_TENSORS=all" in found.reason


def test_an_unrecorded_integer_tensor_needs_the_setting_int():
    assert "of source, which were not recorded (set KVTRACE_TENSORS=int" in asserted("i32").reason
