"""Bits of loaded integers on which something depends."""

import pytest
import torch
import triton
import triton.language as tl

from kvtrace.addons.memory.kept_bits import demanded_bits
from kvtrace.ir.ops import READING
from tests.addons.memory.brute_force import call_of


@triton.jit
def mixed(x, out, ROUNDS: tl.constexpr, LAST: tl.constexpr):
    number = tl.load(x)
    for _ in tl.static_range(ROUNDS):
        number = number ^ (number >> 1)
    tl.store(out, number & LAST)


@pytest.mark.parametrize(
    ("rounds", "last", "demanded"),
    [(0, 6, 6), (1, 6, 14), (2, 1, 7), (400, 1 << 30, 0x4000_0000)],
    ids=["not", "once", "twice", "in 400 rounds"],
)
def test_bits_that_an_integer_is_mixed_with_are_demanded_in_any_number_of_rounds(
    rounds, last, demanded
):
    arguments = {"x": torch.ones(1).int(), "out": torch.ones(1).int()}
    call = call_of(mixed, (1,), arguments, {"ROUNDS": rounds, "LAST": last})
    (load,) = (op for op in call.module.ops if op.name in READING)
    assert demanded_bits(load.results[0], call.module) & 0x7FFF_FFFF == demanded
