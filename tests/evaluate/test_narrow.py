"""Loss of precision that is found in a kernel's IR."""

import pytest
import torch
import triton
import triton.language as tl

from kvtrace.evaluate.narrow import (
    computes_in_narrow_floats,
    foreign_roundings,
    narrow_sums,
    sums_in_memory,
    uses_tf32,
)
from tests.kernels.launching import compile_for


@triton.jit
def in_a_loop(x, out, TYPE: tl.constexpr, B: tl.constexpr):
    lanes = tl.arange(0, B)
    total = tl.zeros([B], dtype=TYPE)
    for start in range(0, 4 * B, B):
        total = (total.to(tl.float32) * 0.5 + tl.load(x + start + lanes)).to(TYPE)
    tl.store(out + lanes, total)


@triton.jit
def carried_wide(x, out, KIND: tl.constexpr, B: tl.constexpr):
    """The type that carries the sum holds more than the sum keeps, in the kinds of `ROUNDED`."""
    lanes = tl.arange(0, B)
    total = tl.zeros([B], dtype=tl.float32)
    most = tl.zeros([B], dtype=tl.float32)
    for start in range(0, 4 * B, B):
        value = tl.load(x + start + lanes).to(tl.float32)
        if KIND == "sum":
            total = (total + value).to(tl.bfloat16).to(tl.float32)
        elif KIND == "summand":
            total = total.to(tl.float16).to(tl.float32) * 0.5 + value
        elif KIND == "chosen":
            total = tl.where(value > 0, (total + value).to(tl.bfloat16).to(tl.float32), total)
        elif KIND == "two sums":
            most = (total + value).to(tl.bfloat16).to(tl.float32)
            total = most * 0.5
        elif KIND == "maximum":
            most = tl.maximum(most, value).to(tl.bfloat16).to(tl.float32)
            total += most
        elif KIND == "value":
            total += value.to(tl.bfloat16).to(tl.float32)
        else:
            total += value
            tl.store(out + start + lanes, total.to(tl.bfloat16))
    tl.store(out + lanes, total)


@triton.jit
def product(x, out, KIND: tl.constexpr, B: tl.constexpr):
    place = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    total = tl.zeros([B, B], dtype=tl.float32)
    for _ in range(3):
        given = tl.load(x + place).to(tl.bfloat16)
        if KIND == "sum":
            total = (total + tl.dot(given, given)).to(tl.bfloat16).to(tl.float32)
        else:  # as attention rounds its probabilities
            total = tl.dot(tl.exp(total).to(tl.bfloat16), given, total * 0.5)
    tl.store(out + place, total)


@triton.jit
def in_memory(x, out, KIND: tl.constexpr, B: tl.constexpr):
    lanes = tl.arange(0, B)
    for start in range(0, 4 * B, B):
        value = tl.load(x + start + lanes)
        if KIND == "loop":
            tl.store(out + lanes, tl.load(out + lanes) + value)
        elif KIND == "wide":
            tl.store(out + lanes, tl.load(out + lanes).to(tl.float32) * 0.5 + value)
        elif KIND == "atomic":
            tl.atomic_add(out + lanes, value)
        elif KIND == "maximum":
            tl.store(out + lanes, tl.maximum(tl.load(out + lanes), value))
        else:  # elsewhere
            tl.store(out + B + lanes, tl.load(out + lanes) + value)


@triton.jit
def at_once(x, out, TYPE: tl.constexpr, B: tl.constexpr):
    tl.store(out, tl.sum(tl.load(x + tl.arange(0, B)).to(TYPE), axis=0))


@triton.jit
def largest(x, out, TYPE: tl.constexpr, B: tl.constexpr):
    lanes = tl.arange(0, B)
    most = tl.full([B], 0, dtype=TYPE)
    for start in range(0, 4 * B, B):
        most = tl.maximum(most, tl.load(x + start + lanes).to(TYPE))
    tl.store(out + lanes, most)


@triton.jit
def squared(x, out, PRECISION: tl.constexpr, B: tl.constexpr):
    place = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    given = tl.load(x + place)
    tl.store(out + place, tl.dot(given, given, input_precision=PRECISION))


@triton.jit
def weighted(x, w, out, B: tl.constexpr):
    lanes = tl.arange(0, B)
    hidden = (tl.load(x + lanes).to(tl.float32) * 0.7).to(tl.bfloat16).to(tl.float32)
    hidden = hidden * tl.load(w + lanes).to(tl.float32)
    tl.store(out + lanes, hidden.to(out.dtype.element_ty))


@triton.jit
def rounded(x, out, B: tl.constexpr):
    lanes = tl.arange(0, B)
    value = tl.load(x + lanes).to(tl.float32) * 0.7
    tl.store(out + lanes, tl.reshape(value.to(tl.bfloat16), [B]))


@triton.jit
def plain(x, out, B: tl.constexpr):
    lanes = tl.arange(0, B)
    value = tl.load(x + lanes).to(tl.float32) * 0.7
    tl.store(out + lanes, value.to(out.dtype.element_ty))


@triton.jit
def halves(x, out, B: tl.constexpr):
    lanes = tl.arange(0, B)
    tl.store(out + lanes, tl.load(x + lanes) + tl.load(x + lanes + B) + tl.load(x + lanes + 2 * B))


@triton.jit
def read_again(x, out, B: tl.constexpr):
    lanes = tl.arange(0, B)
    tl.store(out + lanes, (tl.load(x + lanes).to(tl.float32) * 0.7).to(tl.bfloat16))
    tl.debug_barrier()
    tl.store(out + B + lanes, tl.load(out + lanes))


def module_of(kernel, types=None, **constants):
    types = types or {"x": torch.float32, "out": torch.float32}
    given = {name: torch.zeros(1024, dtype=type_) for name, type_ in types.items()}
    return compile_for(kernel, given, {"B": 16, **constants})


@pytest.mark.parametrize(
    ("kernel", "type_", "found"),
    [
        (in_a_loop, tl.float16, 1),
        (in_a_loop, tl.bfloat16, 1),
        (in_a_loop, tl.float32, 0),
        (at_once, tl.float16, 1),
        (at_once, tl.float32, 0),
        (largest, tl.float16, 0),
    ],
)
def test_a_sum_kept_in_16_bits_is_found_through_conversions(kernel, type_, found):
    assert len(list(narrow_sums(module_of(kernel, TYPE=type_)))) == found


@pytest.mark.parametrize("kind", ["sum", "summand", "chosen", "two sums"])
def test_a_sum_that_each_trip_rounds_is_found_whatever_type_carries_it(kind):
    (found,) = narrow_sums(module_of(carried_wide, KIND=kind))
    assert found.name == "arith.truncf"


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("loop", ["arith.addf", "tt.load"]),
        ("wide", ["arith.truncf", "tt.load"]),
        ("atomic", ["tt.atomic_rmw"]),
        ("maximum", []),
        ("elsewhere", []),
    ],
)
def test_a_sum_stored_where_it_was_loaded_may_be_kept_in_memory_of_16_bits(kind, names):
    narrow = module_of(in_memory, {"x": torch.float16, "out": torch.float16}, KIND=kind)
    assert [op.name for op in sums_in_memory(narrow)] == names
    wide = module_of(in_memory, {"x": torch.float16, "out": torch.float32}, KIND=kind)
    assert not list(sums_in_memory(wide))


@pytest.mark.parametrize("kind", ["maximum", "value", "stored"])
def test_what_is_rounded_beside_a_sum_is_no_narrow_sum(kind):
    assert not list(narrow_sums(module_of(carried_wide, KIND=kind)))


def test_a_rounded_sum_of_products_is_narrow_but_not_a_rounded_factor():
    assert len(list(narrow_sums(module_of(product, KIND="sum")))) == 1
    assert not list(narrow_sums(module_of(product, KIND="factor")))


def test_rounding_to_a_type_of_no_tensor_is_found():
    assert list(foreign_roundings(module_of(largest, TYPE=tl.float16)))
    assert not list(foreign_roundings(module_of(largest, TYPE=tl.float32)))


@pytest.mark.parametrize(
    ("x", "w", "out", "found"),
    [
        (torch.float32, torch.bfloat16, torch.float32, 1),
        (torch.float32, torch.float32, torch.float32, 1),
        (torch.float32, torch.bfloat16, torch.bfloat16, 0),
        (torch.bfloat16, torch.bfloat16, torch.float32, 0),
        (torch.float16, torch.bfloat16, torch.float32, 1),
        (torch.float32, torch.bfloat16, torch.float16, 1),
    ],
)
def test_rounding_is_intended_if_its_source_or_result_has_the_type(x, w, out, found):
    module = module_of(weighted, {"x": x, "w": w, "out": out})
    assert len(list(foreign_roundings(module))) == found
    assert computes_in_narrow_floats(module)


def test_a_rounded_result_stored_in_a_wider_type_is_not_intended():
    types = {"x": torch.bfloat16, "out": torch.float32}
    assert len(list(foreign_roundings(module_of(rounded, types)))) == 1
    types = {"x": torch.bfloat16, "out": torch.bfloat16}
    assert not list(foreign_roundings(module_of(rounded, types)))


@pytest.mark.parametrize(
    ("kernel", "type_", "found"),
    [
        (plain, torch.float32, False),
        (plain, torch.bfloat16, False),
        (rounded, torch.bfloat16, False),
        (rounded, torch.float32, True),
        (read_again, torch.bfloat16, True),
        (halves, torch.bfloat16, True),
    ],
)
def test_rounding_a_result_for_its_store_is_no_narrow_computation(kernel, type_, found):
    module = module_of(kernel, {"x": torch.bfloat16, "out": type_})
    assert computes_in_narrow_floats(module) is found


@pytest.mark.parametrize(("precision", "cut"), [("tf32", True), ("ieee", False)])
def test_use_of_tf32_is_found(precision, cut):
    assert uses_tf32(module_of(squared, PRECISION=precision)) is cut
