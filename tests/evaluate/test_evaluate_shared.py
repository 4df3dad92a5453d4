"""Shared memory in TTGIR: views of buffers, and copies that arrive at the wait for them."""

import re

import numpy as np
import pytest

from kvtrace.evaluate import Deadlock, Storage, TensorArgument, UnsupportedOp, evaluate, parsed
from kvtrace.evaluate.shared_memory import SharedMemory

SIZE = 128
BUFFER = "!ttg.memdesc<2x8x16xf32, #s, #smem, mutable>"
PART = "!ttg.memdesc<8x16xf32, #s, #smem, mutable>"
LINE = f"!ttg.memdesc<{SIZE}xf32, #s, #smem, mutable>"
BARRIER = "!ttg.memdesc<1xi64, #s, #smem, mutable>"
LANES = f"tensor<{SIZE}xi32>"
TENSOR = f"tensor<{SIZE}xf32>"
POINTERS = f"tensor<{SIZE}x!tt.ptr<f32>>"
TOKEN = "!ttg.async.token"
COPY = (
    '"ttg.async_copy_global_to_local"(%p, %view) '
    f"<{{operandSegmentSizes = array<i32: 1, 1, 0, 0>}}> : ({POINTERS}, {LINE}) -> {TOKEN}"
)
COMMIT = f'"ttg.async_commit_group"() : () -> {TOKEN}'


def module(*lines):
    """Return a kernel of `x` and `out`; `%p` and `%q` point to a program's part of them."""
    start = f"""
      %pid = "tt.get_program_id"() <{{axis = 0 : i32}}> : () -> i32
      %zero = "arith.constant"() <{{value = 0 : i32}}> : () -> i32
      %one = "arith.constant"() <{{value = 1 : i32}}> : () -> i32
      %size = "arith.constant"() <{{value = {SIZE} : i32}}> : () -> i32
      %first = "arith.muli"(%pid, %size) : (i32, i32) -> i32
      %lane = "tt.make_range"() <{{start = 0 : i32, end = {SIZE} : i32}}> : () -> {LANES}
      %start = "tt.splat"(%first) : (i32) -> {LANES}
      %place = "arith.addi"(%start, %lane) : ({LANES}, {LANES}) -> {LANES}
      %xs = "tt.splat"(%x) : (!tt.ptr<f32>) -> {POINTERS}
      %outs = "tt.splat"(%out) : (!tt.ptr<f32>) -> {POINTERS}
      %p = "tt.addptr"(%xs, %place) : ({POINTERS}, {LANES}) -> {POINTERS}
      %q = "tt.addptr"(%outs, %place) : ({POINTERS}, {LANES}) -> {POINTERS}
      %loaded = "tt.load"(%p) : ({POINTERS}) -> {TENSOR}
    """
    end = f"""
      "tt.store"(%q, %result) : ({POINTERS}, {TENSOR}) -> ()
      "tt.return"() : () -> ()
    """
    body = "\n".join([start, *lines, end])
    kind = "(!tt.ptr<f32>, !tt.ptr<f32>) -> ()"
    return parsed(f"""
    "builtin.module"() ({{
      "tt.func"() <{{function_type = {kind}, sym_name = "k"}}> ({{
      ^bb0(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>):{body}
      }}) : () -> ()
    }}) : () -> ()
    """)


@pytest.fixture
def faults(monkeypatch):
    """Return a list of the faults in shared memory that a test's launches show."""
    faults = {}

    def began(self, programs):
        original(self, programs)
        self.faults = faults

    original = SharedMemory.__init__
    monkeypatch.setattr(SharedMemory, "__init__", began)
    return faults


def run(kernel, programs=2):
    """Return the inputs and outputs of a launch on distinct numbers."""
    x = np.arange(1, 1 + programs * SIZE, dtype=np.float32)
    out = np.zeros_like(x)
    tensors = [
        TensorArgument(name, Storage(each.nbytes, each.view(np.uint8)), 0, "fp32", each.shape, (1,))
        for name, each in (("x", x), ("out", out))
    ]
    evaluate(kernel, tensors, (programs,))
    return x.reshape(programs, SIZE), out.reshape(programs, SIZE)


def test_views_of_a_buffer_read_and_write_the_same_elements(faults):
    """Each program writes its part of a buffer and reads a transposed block of it."""
    x, out = run(module(
        f'%block = "tt.reshape"(%loaded) : ({TENSOR}) -> tensor<8x16xf32>',
        f'%buffer = "ttg.local_alloc"() : () -> {BUFFER}',
        f'%part = "ttg.memdesc_index"(%buffer, %pid) : ({BUFFER}, i32) -> {PART}',
        f'"ttg.local_store"(%block, %part) : (tensor<8x16xf32>, {PART}) -> ()',
        f'%again = "ttg.memdesc_index"(%buffer, %pid) : ({BUFFER}, i32) -> {PART}',
        '%cut = "ttg.memdesc_subslice"(%again) <{offsets = array<i32: 4, 8>}>'
        f" : ({PART}) -> !ttg.memdesc<4x8xf32, #s, #smem, mutable, 8x16>",
        '%turned = "ttg.memdesc_trans"(%cut) <{order = array<i32: 1, 0>}>'
        " : (!ttg.memdesc<4x8xf32, #s, #smem, mutable, 8x16>)"
        " -> !ttg.memdesc<8x4xf32, #s, #smem, mutable, 16x8>",
        '%flat = "ttg.memdesc_reshape"(%turned) : (!ttg.memdesc<8x4xf32, #s, #smem, mutable, 16x8>)'
        " -> !ttg.memdesc<32xf32, #s, #smem, mutable>",
        '%few = "ttg.local_load"(%flat) : (!ttg.memdesc<32xf32, #s, #smem, mutable>)'
        " -> tensor<32xf32>",
        '%row = "tt.expand_dims"(%few) <{axis = 0 : i32}> : (tensor<32xf32>) -> tensor<1x32xf32>',
        '%rows = "tt.broadcast"(%row) : (tensor<1x32xf32>) -> tensor<4x32xf32>',
        f'%result = "tt.reshape"(%rows) : (tensor<4x32xf32>) -> {TENSOR}',
    ))  # fmt: skip

    expected = [np.tile(row.reshape(8, 16)[4:8, 8:16].T.reshape(-1), 4) for row in x]
    assert np.array_equal(out, expected)
    assert not faults


PLACES = "tensor<8x16xi32>"
BLOCK = "tensor<8x16xf32>"
PICKS = {
    "gather": '%r = "ttg.local_gather"(%view, %at) <{axis = AXIS : i32}>'
    f" : ({PART}, {PLACES}) -> {BLOCK}",
    "scatter": '"ttg.local_scatter"(%view, %block, %at) <{axis = AXIS : i32}>'
    f' : ({PART}, {BLOCK}, {PLACES}) -> ()\n%r = "ttg.local_load"(%view) : ({PART}) -> {BLOCK}',
}


def picked(how, axis, factor):
    """Return a kernel that picks from a buffer along an axis: lane * factor // 16 % extent."""
    numbers = (("factor", factor), ("row", 16), ("extent", (8, 16)[axis]))
    return module(
        f'%block = "tt.reshape"(%loaded) : ({TENSOR}) -> {BLOCK}',
        f'%view = "ttg.local_alloc"(%block) : ({BLOCK}) -> {PART}',
        *(f'%{name} = "arith.constant"() <{{value = dense<{number}> : {LANES}}}> : () -> {LANES}'
          for name, number in numbers),
        f'%many = "arith.muli"(%lane, %factor) : ({LANES}, {LANES}) -> {LANES}',
        f'%fewer = "arith.divsi"(%many, %row) : ({LANES}, {LANES}) -> {LANES}',
        f'%some = "arith.remsi"(%fewer, %extent) : ({LANES}, {LANES}) -> {LANES}',
        f'%at = "tt.reshape"(%some) : ({LANES}) -> {PLACES}',
        PICKS[how].replace("AXIS", str(axis)),
        f'%result = "tt.reshape"(%r) : ({BLOCK}) -> {TENSOR}',
    )  # fmt: skip


@pytest.mark.parametrize(("axis", "factor"), [(0, 17), (1, 48)])
def test_elements_are_picked_along_an_axis(axis, factor, faults):
    at = (np.arange(SIZE) * factor // 16 % (8, 16)[axis]).reshape(8, 16)
    x, gathered = run(picked("gather", axis, factor))
    blocks = x.reshape(-1, 8, 16)
    for block, out in zip(blocks, gathered, strict=True):
        assert np.array_equal(out.reshape(8, 16), np.take_along_axis(block, at, axis))
    _, scattered = run(picked("scatter", axis, factor))
    for block, out in zip(blocks, scattered, strict=True):
        assert np.array_equal(np.take_along_axis(out.reshape(8, 16), at, axis), block)
    assert not faults


@pytest.mark.parametrize(("how", "factor"), [("scatter", 0), ("gather", -48), ("scatter", -48)])
def test_what_picks_several_times_or_beyond_a_view_is_unknown(how, factor):
    """Of elements stored to one place any may be the last."""
    assert not run(picked(how, 1, factor))[1].any()


def copied(*lines):
    """Return the text of a kernel that copies to a buffer, runs some ops, and reads the buffer."""
    return module(
        f'%view = "ttg.local_alloc"() : () -> {LINE}',
        f"%t0 = {COPY}",
        f"%t1 = {COMMIT}",
        *lines,
        f'%result = "ttg.local_load"(%view) : ({LINE}) -> {TENSOR}',
    )


@pytest.mark.parametrize("left", [0, 1])
def test_an_asynchronous_copy_arrives_at_the_wait_for_its_group(left, faults):
    x, out = run(copied(f'%t2 = "ttg.async_wait"() <{{num = {left} : i32}}> : () -> {TOKEN}'))

    assert np.array_equal(out, x if left == 0 else 0 * x)
    assert bool(faults) == (left == 1)


def test_each_program_waits_for_its_own_groups_of_copies(faults):
    """The second program closes one more group, so that a wait that leaves one ends its copy."""
    x, out = run(copied(
        '%more = "arith.cmpi"(%pid, %zero) <{predicate = 4 : i64}> : (i32, i32) -> i1',
        '"scf.if"(%more) ({',
        f"%t2 = {COMMIT}",
        '"scf.yield"() : () -> ()',
        "}, {",
        "}) : (i1) -> ()",
        f'%t3 = "ttg.async_wait"() <{{num = 1 : i32}}> : () -> {TOKEN}',
    ))  # fmt: skip

    assert np.array_equal(out, [0 * x[0], x[1]])
    (fault,) = faults
    assert re.fullmatch(
        "ttg.local_load at an unknown line reads elements that a copy in flight may not have "
        "written yet",
        fault,
    )


def test_a_wait_for_a_barrier_without_a_copy_is_a_deadlock():
    kernel = module(
        f'%bar = "ttg.local_alloc"() : () -> {BARRIER}',
        f'"ttng.init_barrier"(%bar) <{{count = 1 : i32}}> : ({BARRIER}) -> ()',
        '"ttng.wait_barrier"(%bar, %zero) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>}>'
        f" : ({BARRIER}, i32) -> ()",
        f'%result = "tt.bitcast"(%loaded) : ({TENSOR}) -> {TENSOR}',
    )

    with pytest.raises(
        Deadlock, match=r"ttng\.wait_barrier at .* waits forever: no copy in flight"
    ):
        run(kernel)


def test_a_wait_for_a_barrier_phase_that_is_over_returns_at_once():
    """The phase before the first of a new barrier is over."""
    kernel = module(
        f'%bar = "ttg.local_alloc"() : () -> {BARRIER}',
        f'"ttng.init_barrier"(%bar) <{{count = 1 : i32}}> : ({BARRIER}) -> ()',
        '"ttng.wait_barrier"(%bar, %one) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>}>'
        f" : ({BARRIER}, i32) -> ()",
        f'%result = "tt.bitcast"(%loaded) : ({TENSOR}) -> {TENSOR}',
    )

    x, out = run(kernel)

    assert np.array_equal(out, x)


def test_a_shared_memory_index_beyond_its_view_is_refused():
    kernel = module(
        f'%buffer = "ttg.local_alloc"() : () -> {BUFFER}',
        f'%part = "ttg.memdesc_index"(%buffer, %size) : ({BUFFER}, i32) -> {PART}',
        f'%result = "tt.bitcast"(%loaded) : ({TENSOR}) -> {TENSOR}',
    )

    with pytest.raises(UnsupportedOp, match=r"memdesc_index' beyond the 2 parts of the view"):
        run(kernel)
