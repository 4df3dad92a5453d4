"""Inline PTX in real kernels, compared with PyTorch."""

import torch
from triton.backends.compiler import GPUTarget

from corpus.kernels import language
from tests.kernels.launching import launch


def test_predicated_instructions_choose_lane_by_lane():
    x = torch.cat([torch.linspace(-100, 100, 255), torch.tensor([20.0])])
    out = torch.empty(256)

    launch(language.softplus, (4,), {"x": x, "out": out}, {"BLOCK": 64})

    torch.testing.assert_close(out, torch.nn.functional.softplus(x), atol=1e-6, rtol=1e-5)


def test_assembly_on_four_bytes_per_register_equals_torch():
    x = torch.arange(64, dtype=torch.uint8) * 4
    y = torch.randn(64) * 200
    whole, largest = torch.empty(64, dtype=torch.int32), torch.empty(64)

    launch(
        language.bytes_in_fours,
        (1,),
        {"x": x, "y": y, "whole": whole, "largest": largest},
        {"BLOCK": 64},
    )

    assert torch.equal(whole, x.int())
    assert torch.equal(largest, torch.maximum(x.float(), y))


def test_assembly_on_halves_rounds_once():
    x, y = torch.randn(2, 4096).bfloat16().unbind(0)
    out = torch.empty(4096, dtype=torch.bfloat16)

    launch(
        language.halves_in_pairs,
        (8,),
        {"x": x, "y": y, "out": out},
        {"BLOCK": 512},
    )

    assert torch.equal(out, (x.double() * 2 + y.double()).bfloat16())


def test_tritons_assembly_conversions_restore_their_input():
    patterns = torch.arange(256, dtype=torch.int16)
    sign, low = patterns >> 7 << 15, (patterns & 0x7F) << 7
    x = (sign | low).view(torch.float16)
    x = torch.where(x.abs() > 1.75, torch.zeros_like(x), x)
    stored = torch.empty(256, dtype=torch.int8)
    back = torch.empty(256, dtype=torch.float16)

    launch(
        language.custom_floats,
        (1,),
        {"x": x, "stored": stored, "back": back},
        {"BLOCK": 256},
        target=GPUTarget("cuda", 80, 32),
    )

    assert torch.equal(back, x)
    expected = torch.where(x == 0, x.view(torch.int16) >> 8 & 0x80, patterns)
    assert torch.equal(stored.view(torch.uint8).int(), expected.to(torch.uint8).int())


def test_integers_computed_by_assembly_can_be_addresses():
    x, out = torch.arange(64), torch.empty(16, dtype=torch.int64)
    launch(language.row_by_assembly, (1,), {"x": x, "out": out}, {"BLOCK": 16})
    assert out.tolist() == [2 * n + 1 for n in range(16)]
