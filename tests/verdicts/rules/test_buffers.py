"""Offsets that AMD's buffers do not reach: notes on accesses by pointers, with their range."""

import pytest
import triton
import triton.language as tl

from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.rules.buffers import judge
from tests.backends.compiled_kernels.check_kernels import gather
from tests.support.replacing import replace
from tests.verdicts.calls import call, tensor

GIB = 1 << 30


@triton.jit
def rows(source, result, stride, BLOCK: tl.constexpr):
    steps = tl.arange(0, BLOCK)
    offsets = tl.program_id(0).to(tl.int64) * stride + steps
    tl.store(result + steps, tl.load(source + offsets))


def notes(judged, target="hip:gfx950"):
    bound = BoundCall(replace(judged, module=replace(judged.module, target=target)))
    return [(verdict.verdict, verdict.arg, verdict.message) for verdict in judge(bound)]


def gathered(room):
    tensors = {"x": tensor(room), "index": tensor(4, dtype="i32"), "out": tensor(4)}
    return call(gather, (1,), **tensors, n=4, BLOCK=4)


def test_an_index_of_unknown_sign_into_a_large_tensor_is_noted():
    ((verdict, name, message),) = notes(gathered(GIB))
    assert (verdict, name) == ("violation", "x")
    assert message == (
        "this load is at bytes -8,589,934,592 to 8,589,934,591 from its base, not surely in 0 to "
        "2 GiB, so that Triton uses no buffer for it"
    )


def test_a_tensor_below_2_gib_needs_no_proof():
    assert notes(gathered(GIB // 4)) == []


@pytest.mark.parametrize(
    ("stride", "last"), [(256, None), ((1 << 29) - 128, None), (1 << 29, 2 * GIB + 255)]
)
def test_a_range_is_that_of_the_recorded_launch(stride, last):
    judged = call(
        rows, (2,), source=tensor(GIB), result=tensor(64), stride=stride, wide=("stride",), BLOCK=64
    )
    found = notes(judged)
    assert [verdict for verdict, _, _ in found] == ([] if last is None else ["violation"])
    assert all(f"bytes 0 to {last:,} from its base" in message for _, _, message in found)


def test_other_targets_have_no_buffers():
    assert notes(gathered(GIB), "cuda:90") == []
