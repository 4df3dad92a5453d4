"""Addresses read as the kernel writes them; terms by the names of arguments."""

import pytest
import triton
import triton.language as tl

from kvtrace.ir import parse
from kvtrace.symbolic.expressions import (
    address_expression,
    condition_expression,
    expression,
    value_expression,
)
from kvtrace.symbolic.walk import summarize
from tests.support.compile_ttir import compile_generic


@triton.jit
def tiles(a, b, out, rows, columns, stride, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    r = pid * BLOCK + tl.arange(0, BLOCK)
    c = tl.arange(0, BLOCK)
    places = a + r[:, None] * stride + c[None, :]
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for _ in range(0, columns, BLOCK):
        total += tl.load(places, mask=r[:, None] < rows)
        places += BLOCK
    chosen = tl.load(b + (r + 1) % rows)
    tl.store(out + (r * 2 - 1)[:, None] + c[None, :] // 3 + min(pid, stride), total)
    tl.store(out + chosen.to(tl.int32), 1.0, mask=r < rows)


def summary():
    text = compile_generic(
        tiles,
        {"a": "*fp32", "b": "*fp32", "out": "*fp32", "rows": "i32", "columns": "i32"}
        | {"stride": "i32", "BLOCK": "constexpr"},
        {"BLOCK": 16},
    )
    return summarize(parse(text))


def test_address_texts_use_the_kernels_variables():
    made = summary()

    texts = [address_expression(access, made) for access in made.accesses]

    assert texts == [
        # the compiler made one of the two ranges, so `c` is no variable here
        "a + r[:, None] * stride + arange(0, 16)[None, :] + trip * 16",
        "b + (r + 1) % rows",
        "out + (r * 2 - 1)[:, None] + arange(0, 16)[None, :] // 3 + min(pid, stride)",
        "out + fptosi(chosen)",
    ]


def test_texts_of_terms_and_conditions_name_arguments():
    made = summary()
    load, _, _, last = made.accesses

    assert expression(load.offset, made) == (
        "64 * pid * stride + 4 * stride * lane + 64 * trip + 4 * lane1"
    )
    assert condition_expression(load.mask, made) == "16 * pid + lane < rows"
    assert condition_expression(~last.mask, made) == "rows <= 16 * pid + lane"


def test_text_of_an_assigned_value_is_its_variable():
    made = summary()
    mask = made.accesses[-1].op.operands[2]

    assert value_expression(mask, made) == "(r < rows)"


@triton.jit
def several(x, out, n, HOW: tl.constexpr, BLOCK: tl.constexpr):
    """Statements whose IR has one op, of one name, for two variables."""
    o = tl.arange(0, BLOCK)
    p, q = tl.load(x + o), tl.load(x + BLOCK + o)
    if HOW == "index":
        p, q = tl.max(p, 0, return_indices=True)
    if HOW == "for":
        for _ in range(n):
            p += 3
            q += 2
    if HOW == "while":
        remaining = n
        while remaining > 0:
            p += 3
            q += 2
            remaining -= 1
    n *= HOW == "if"
    if n > 2:
        p = p * 2
        q = q * 3
    tl.store(out + p + q, 1)


@pytest.mark.parametrize("how", ["index", "for", "while", "if"])
def test_variables_of_one_statement_are_not_printed_as_one(how):
    signature = {"x": "*i32", "out": "*i32", "n": "i32", "HOW": "constexpr", "BLOCK": "constexpr"}
    made = summarize(parse(compile_generic(several, signature, {"HOW": how, "BLOCK": 16})))

    text = address_expression(made.accesses[-1], made)

    parts = "load(x + o), o"
    index = f"out + reduce({parts})[0] + reduce({parts})[1]"
    assert text == (index if how == "index" else "out + p + q")
