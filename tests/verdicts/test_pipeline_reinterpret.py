"""Views of a buffer's bytes as another type, in Gluon: results beside torch, and mutants."""

import re
from functools import partial

import pytest

from tests.support.without_gpu import torch_without_gpu

torch = torch_without_gpu((3, 7), "Gluon for gfx1250")

from triton.experimental import gluon  # noqa: E402
from triton.experimental.gluon import language as gl  # noqa: E402
from triton.experimental.gluon.language.nvidia.ampere import async_copy  # noqa: E402
from triton.experimental.gluon.language.nvidia.blackwell import (  # noqa: E402
    TensorMemoryLayout,
    allocate_tensor_memory,
)

from tests.verdicts.gluon_mutants import judged, line_of, recorded_by  # noqa: E402

tdm = gl.amd.gfx1250.tdm
PLANE = gl.constexpr(gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0]))
ROWS = gl.constexpr(gl.BlockedLayout([1, 64], [32, 1], [4, 1], [1, 0]))
HALVES = gl.constexpr(gl.SwizzledSharedLayout(8, 1, 8, [1, 0]))
PLAIN = gl.constexpr(gl.SwizzledSharedLayout(1, 1, 1, [1, 0]))
PADDED = gl.constexpr(gl.PaddedSharedLayout.with_identity_for([[32, 8]], [32, 32], [1, 0]))
WIDE = gl.constexpr(gl.PaddedSharedLayout.with_identity_for([[16, 4]], [32, 16], [1, 0]))
COLUMNS = gl.constexpr(TensorMemoryLayout((128, 64), col_stride=1))


@gluon.jit
def places(M: gl.constexpr, N: gl.constexpr, LAYOUT: gl.constexpr):
    rows = gl.arange(0, M, layout=gl.SliceLayout(1, LAYOUT))[:, None]
    return rows * N + gl.arange(0, N, layout=gl.SliceLayout(0, LAYOUT))[None, :]


@gluon.jit
def reread(x, y):
    halves = gl.allocate_shared_memory(x.dtype.element_ty, [2, 64, 64], HALVES)
    words = halves.index(1)._reinterpret(gl.float32, [64, 32], PLAIN)
    halves.index(0).store(gl.zeros([64, 64], x.dtype.element_ty, PLANE))
    halves.index(1).store(gl.load(x + places(64, 64, PLANE)))
    gl.store(y + places(64, 32, PLANE), words.load(PLANE))
    words.store(gl.load(y + places(64, 32, PLANE)))
    gl.store(x + places(64, 64, PLANE), halves.index(1).load(PLANE) * 2)


@gluon.jit
def in_tensor_memory(x, y):
    words = allocate_tensor_memory(gl.float32, [128, 64], COLUMNS)
    halves = words.slice(32, 32)._reinterpret(gl.float16, [128, 64], COLUMNS)
    words.store(gl.full([128, 64], 1.0, gl.float32, ROWS))
    halves.store(gl.load(x + places(128, 64, ROWS)))
    gl.store(y + places(128, 64, ROWS), words.load(ROWS))


@gluon.jit
def reused(x, y, TRIPS: gl.constexpr):
    halves = gl.allocate_shared_memory(gl.float16, [32, 32], PLAIN)
    words = halves._reinterpret(gl.float32, [32, 16], PLAIN)
    for trip in range(TRIPS):
        async_copy.async_copy_global_to_shared(halves, x + trip * 1024 + places(32, 32, PLANE))
        async_copy.commit_group()
        async_copy.wait_group(0)
        gl.store(y + trip * 512 + places(32, 16, PLANE), words.load(PLANE))


@gluon.jit
def moved(x, y, TRIPS: gl.constexpr):
    before = tdm.make_tensor_descriptor(x, [TRIPS * 32, 32], [32, 1], [32, 32], PADDED)
    after = tdm.make_tensor_descriptor(y, [TRIPS * 32, 16], [16, 1], [32, 16], WIDE)
    halves = gl.allocate_shared_memory(gl.float16, [32, 32], PADDED)
    words = halves._reinterpret(gl.float32, [32, 16], WIDE)
    for trip in range(TRIPS):
        tdm.async_load(before, [trip * 32, 0], halves)
        tdm.async_wait(0)
        words.store(words.load(PLANE) + 0)
        tdm.async_store(after, [trip * 32, 0], words)


def recorded(out, target, kernel, *tensors, **sizes):
    """The recorded call of a kernel, and its generic TTGIR."""
    return recorded_by(partial(kernel[(1,)], *tensors, **sizes), out, target=target)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_swizzled_halves_are_read_as_plain_words(dtype, tmp_path):
    x, y = torch.randn(64, 64).to(dtype), torch.zeros(64, 32)
    before, rows, columns = x.clone(), torch.arange(64)[:, None], torch.arange(64)
    recorded(tmp_path, "cuda:80", reread, x, y)
    swizzled = (columns // 8 ^ rows % 8) * 8 + columns % 8
    expected = torch.zeros_like(before).scatter(1, swizzled, before)
    assert torch.equal(y.view(torch.int32), expected.view(torch.int32))
    assert torch.equal(x, before * 2)


def test_halves_of_tensor_memory_are_in_the_columns_of_words(tmp_path):
    x, y = torch.randn(128, 64).half(), torch.zeros(128, 64)
    recorded(tmp_path, "cuda:100", in_tensor_memory, x, y)
    assert torch.equal(y[:, 32:].view(torch.int32), x.view(torch.int32))
    assert (y[:, :32] == 1).all()


@pytest.mark.parametrize(
    ("target", "kernel", "wait", "trips", "line"),
    [
        ("cuda:80", reused, "ttg.async_wait", 3, "async_copy_global_to_shared"),
        ("cuda:80", reused, "ttg.async_wait", 1, "words.load"),
        ("hip:gfx1250", moved, "amdg.async_tdm_wait", 3, "words.load"),
    ],
)
def test_a_wait_for_less_is_found(target, kernel, wait, trips, line, tmp_path):
    x, y = torch.randn(32 * trips, 32).half(), torch.zeros(32 * trips, 16)
    call, text = recorded(tmp_path, target, kernel, x, y, TRIPS=trips)
    assert torch.equal(y.view(torch.int32), x.view(torch.int32))
    assert judged(call, text).verdict != "violation"
    late = re.sub(rf'("{wait}".*)num = 0', r"\1num = 1", text)
    answer = judged(call, late)
    assert answer.verdict == "violation", answer.message
    assert line in line_of(answer.op)
