"""Memory of values is freed after their last use, that of compiled code with its module."""

import gc
import tracemalloc
import weakref

import numpy as np
import torch
import triton
import triton.language as tl

from corpus.kernels import basic
from kvtrace.evaluate import Storage, TensorArgument, evaluate, parsed
from kvtrace.ir import parse
from tests.kernels.launching import bind
from tests.support.compile_ttir import compile_generic

TYPES = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}


def test_compiled_code_and_known_values_are_freed_with_their_module():
    module = parse(compile_generic(basic.vector_add, TYPES, {"BLOCK": 16}))
    x, y, out = torch.randn(40), torch.randn(40), torch.empty(40)
    arguments = bind(basic.vector_add, {"x": x, "y": y, "out": out, "n": 40})
    evaluate(module, arguments, (3,))
    assert torch.equal(out, x + y)
    seen = weakref.ref(module)

    del module
    gc.collect()

    assert seen() is None


def peak_of_sums(number):
    """Return the peak of bytes of a kernel that doubles a block so many times."""
    size, lanes, pointers = 1 << 16, "tensor<65536xi32>", "tensor<65536x!tt.ptr<i32>>"
    copies = "\n".join(
        f'%v{copy} = "tt.load"(%from) <{{operandSegmentSizes = array<i32: 1, 0, 0>}}>'
        f" : ({pointers}) -> {lanes}\n"
        f'%w{copy} = "arith.addi"(%v{copy}, %v{copy}) : ({lanes}, {lanes}) -> {lanes}\n'
        f'"tt.store"(%to, %w{copy}) : ({pointers}, {lanes}) -> ()'
        for copy in range(number)
    )
    addresses = "\n".join(
        f'%{name}s = "tt.splat"(%{base}) : (!tt.ptr<i32>) -> {pointers}\n'
        f'%{name} = "tt.addptr"(%{name}s, %lane) : ({pointers}, {lanes}) -> {pointers}'
        for name, base in (("from", "x"), ("to", "out"))
    )
    module = parsed(f"""
        "builtin.module"() ({{
          "tt.func"() <{{sym_name = "sums", sym_visibility = "public"}}> ({{
          ^bb0(%x: !tt.ptr<i32>, %out: !tt.ptr<i32>):
            %lane = "tt.make_range"() <{{start = 0 : i32, end = {size} : i32}}> : () -> {lanes}
            {addresses}
            {copies}
            "tt.return"() : () -> ()
          }}) : () -> ()
        }}) : () -> ()
    """)
    x, out = np.arange(size, dtype=np.int32), np.zeros(size, np.int32)
    arguments = [
        TensorArgument(name, Storage(4 * size, array.view(np.uint8)), 0, "i32", (size,), (1,))
        for name, array in (("x", x), ("out", out))
    ]
    tracemalloc.start()
    evaluate(module, arguments, (1,))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.array_equal(out, 2 * x)
    return peak


def test_a_value_is_freed_after_its_last_use():
    assert peak_of_sums(12) < peak_of_sums(2) + 4 * (1 << 16)


@triton.jit
def chained(x, out, again, low, high, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    row = tl.program_id(0) * BLOCK
    inside = (lanes >= low) & (lanes < high)
    value = tl.load(x + row + lanes)
    doubled = value + value
    column = doubled[:, None]
    shifted = doubled * 3.0
    kept = tl.sum(column, axis=1)
    tl.store(again + row + lanes, kept)
    tl.store(out + row + lanes, shifted - doubled, mask=inside)


@triton.jit
def next_of_each(x, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(x + 1 + lanes, tl.load(x + lanes) + 1.0)


@triton.jit
def halves(x, out, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes) * 0.5)


def launches(kernel, constexprs, scalars=(), **tensors):
    """Return a function that launches a kernel over its tensors' rows."""
    types = dict.fromkeys(tensors, "*fp32") | {name: "i32" for name, _ in scalars}
    ordered = {name: types[name] for name in kernel.arg_names if name in types}
    signature = ordered | dict.fromkeys(constexprs, "constexpr")
    module = parse(compile_generic(kernel, signature, constexprs))
    arguments = bind(kernel, {**tensors, **dict(scalars)})
    return lambda programs, **more: evaluate(module, arguments, (programs,), **more)


def test_values_that_are_used_twice_are_stored_as_computed():
    """Operands stay as they are, also those that are views; a box of lanes is cut once."""
    x, out, again = torch.randn(128, 1024), torch.zeros(128, 1024), torch.zeros(128, 1024)
    before = x.clone()
    launch = launches(
        chained, {"BLOCK": 1024}, (("low", 5), ("high", 700)), x=x, out=out, again=again
    )
    for _ in range(3):  # from the second launch on, elements of stores are known
        launch(128)
        assert torch.equal(x, before)
        assert torch.equal(again, 2 * x)
        assert torch.equal(out[:, 5:700], (x + x)[:, 5:700] * 3 - (x + x)[:, 5:700])
        assert not out[:, :5].any()
        assert not out[:, 700:].any()
        out.zero_()


def test_a_store_over_its_own_operands_reads_them_first():
    x = torch.arange(131073, dtype=torch.float32)
    launch = launches(next_of_each, {"BLOCK": 131072}, x=x)
    expected = x.clone()
    for _ in range(3):
        expected[1:] = expected[:-1] + 1
        launch(1)
        assert torch.equal(x, expected)


def test_what_the_next_op_stores_takes_no_memory():
    x, out = torch.randn(128 * 1024), torch.zeros(128 * 1024)
    launch = launches(halves, {"BLOCK": 1024}, x=x, out=out)
    launch(128)
    tracemalloc.start()
    launch(128)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * x.nbytes


@triton.jit
def masked_halves(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n) * 0.5, mask=lanes < n)


def test_programs_without_masked_off_lanes_are_not_copied_for_one_that_has_some():
    n = 200 * 1024 + 5
    x, out = torch.randn(n), torch.zeros(n + 1024)
    launch = launches(masked_halves, {"BLOCK": 1024}, [("n", n)], x=x, out=out)
    for _ in range(3):
        launch(201)
        assert torch.equal(out[:n], x * 0.5)
        assert not out[n:].any()
        out.zero_()
    tracemalloc.start()
    launch(201)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * x.nbytes
