"""Dependence of ops on loaded data through loops, branches, calls and early returns."""

from pathlib import Path

import pytest
import triton
import triton.language as tl

from kvtrace.ir import parse, source_stack
from kvtrace.ir.data_dependence import depending_on_data, leading_integers
from tests.support.compile_ttir import compile_generic


@triton.jit
def gathered(x, index, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    where = tl.load(index + i, mask=i < n)  # independent
    value = tl.load(x + where, mask=i < n)  # depends on data
    tl.store(out + i, value, mask=i < n)  # independent
    tl.store(out + i, value, mask=value > 0)  # depends on data


@triton.jit
def carried(x, index, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    pointers, chosen = x + i, x + i
    total = tl.zeros((BLOCK,), tl.float32)
    for _ in range(n):
        total += tl.load(pointers)  # independent
        total += tl.load(chosen)  # depends on data
        pointers += BLOCK
        chosen += tl.load(index)  # independent
    tl.store(out + i, total)  # independent


@triton.jit
def branched(x, index, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    if tl.load(index) > 0:  # independent
        tl.store(out + i, 1.0)  # depends on data
    if n > 3:
        tl.store(out + i, 2.0)  # independent
    trips = tl.load(index + 1)  # independent
    for _ in range(trips):
        tl.store(out + i, 3.0)  # depends on data
    while trips > 0:
        trips -= tl.load(index + 2)  # depends on data


@triton.jit
def returned(x, index, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    if tl.load(index) > n:  # depends on data
        return
    tl.store(out + i, tl.load(x + i))  # depends on data


@triton.jit(noinline=True)
def stored_at(out, where, value):
    tl.store(out + where, value)  # depends on data


@triton.jit
def called(x, index, out, n, BLOCK: tl.constexpr):
    stored_at(out, tl.load(index), 1.0)  # independent
    tl.store(x + tl.arange(0, BLOCK), 1.0)  # independent


@pytest.mark.parametrize("kernel", [gathered, carried, branched, returned, called])
def test_lines_that_depend_on_data_have_the_comment(kernel):
    types = {"x": "*fp32", "index": "*i32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    module = parse(compile_generic(kernel, types, {"BLOCK": 16}))
    lines = Path(__file__).read_text().splitlines()

    dependent = depending_on_data(module)

    memory = [op for op in module.ops if op.name in ("tt.load", "tt.store")]
    for op in memory:
        line = lines[source_stack(op)[0].line - 1]
        assert ("# depends on data" in line) == (op.index in dependent), line
    assert len(memory) >= 2
    assert depending_on_data(module) is dependent


@triton.jit
def numbered(x, index, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    where = tl.load(index + i)  # leads
    length = tl.load(index + BLOCK)  # leads
    number = tl.load(index + 2 * BLOCK + i)  # leads
    other = tl.load(index + 3 * BLOCK)  # leads
    seed = tl.load(index + 4 * BLOCK)  # data
    ignored = tl.load(index + 5 * BLOCK)  # data
    value = tl.load(x + where, mask=i < length, other=0.0)  # data
    value = tl.where(number == other, value, 0.0) + tl.rand(seed, i)
    tl.store(out + i, tl.where(ignored == n, value, 0.0))


def test_leading_integers_select_addresses_or_are_compared():
    types = {"x": "*fp32", "index": "*i32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    module = parse(compile_generic(numbered, types, {"BLOCK": 16}))
    source = Path(__file__).read_text().splitlines()

    markers = {
        op.index: source[source_stack(op)[0].line - 1].rpartition("# ")[2]
        for op in module.ops
        if op.name == "tt.load"
    }

    assert len(markers) == 7
    assert leading_integers(module) == {index for index, text in markers.items() if text == "leads"}
