"""Memory of values is freed after their last use, that of compiled code with its module."""

import gc
import tracemalloc
import weakref

import numpy as np
import torch

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
