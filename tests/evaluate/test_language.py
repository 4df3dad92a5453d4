"""Corners of the language: scalar maps, addresses, control flow, narrow floats."""

import numpy as np
import pytest
import torch

from kvtrace.evaluate import DeviceAssertion, UnknownAddress, UnsupportedOp
from tests.kernels import language
from tests.kernels.launching import launch


def test_map_elementwise_runs_scalar_code_for_each_lane():
    x, y, out, other = torch.randn(4, 64)

    launch(language.mapped, (2,), {"x": x, "y": y, "out": out, "other_out": other}, {"BLOCK": 32})

    torch.testing.assert_close(out, x * y + 1 + x - y)
    torch.testing.assert_close(other, torch.where(x > y, x, y * 2))


def test_known_assembly_runs_and_unknown_is_refused_by_name():
    x, out = torch.randn(2, 32)

    launch(language.inline_tanh, (1,), {"x": x, "out": out}, {"BLOCK": 32})

    torch.testing.assert_close(out, torch.tanh(x))
    with pytest.raises(UnsupportedOp) as refused:
        launch(language.unknown_assembly, (1,), {"x": x, "out": out}, {"BLOCK": 32})
    text = str(refused.value)
    assert "tt.elementwise_inline_asm" in text
    assert "add.f32" in text
    assert "language.py:" in text
    assert "unknown_assembly" in text


def test_narrow_floats_round_as_the_hardware_does():
    x = torch.cat([torch.randn(250) * 10, torch.tensor([1e6, -1e6, 3.3e38, 0.0, 1e-9, 449.0])])
    outs = {
        "fp8_out": torch.empty(256, dtype=torch.float8_e4m3fn),
        "fp8e5_out": torch.empty(256, dtype=torch.float8_e5m2),
        "bf16_out": torch.empty(256, dtype=torch.bfloat16),
        "bf16_rtz_out": torch.empty(256, dtype=torch.bfloat16),
        "fp16_rtz_out": torch.empty(256, dtype=torch.float16),
    }

    launch(language.narrowed, (1,), {"x": x, **outs}, {"BLOCK": 256})

    saturated = x.clamp(-448, 448).to(torch.float8_e4m3fn)
    assert torch.equal(outs["fp8_out"].view(torch.uint8), saturated.view(torch.uint8))
    saturated = x.clamp(-57344, 57344).to(torch.float8_e5m2)
    assert torch.equal(outs["fp8e5_out"].view(torch.uint8), saturated.view(torch.uint8))
    assert torch.equal(outs["bf16_out"], x.bfloat16())
    bits = x.view(torch.int32) >> 16 << 16
    assert torch.equal(outs["bf16_rtz_out"].float(), bits.view(torch.float32))
    small = x.abs() < 60000
    cut = outs["fp16_rtz_out"][small].float()
    assert bool((cut.abs() <= x[small].abs()).all())
    torch.testing.assert_close(cut, x[small], rtol=1e-3, atol=1e-7)


def test_pointers_made_from_integers_find_their_tensor():
    x, out = torch.randn(32), torch.zeros(64)

    launch(language.through_integers, (1,), {"x": x, "out": out, "shift": 128}, {"BLOCK": 32})

    assert torch.equal(out[32:], x)
    assert not out[:32].any()


def test_pointers_from_a_table_to_tensors_that_are_no_arguments_are_refused():
    tensors = [torch.randn(16) for _ in range(3)]
    table = torch.tensor([t.data_ptr() for t in tensors])
    out = torch.empty(48)

    with pytest.raises(UnknownAddress, match=r"loaded_pointers.*comes from no tensor argument"):
        launch(language.loaded_pointers, (3,), {"table": table, "out": out}, {"BLOCK": 16})


def test_scaled_product_equals_its_definition():
    left = (torch.randn(32, 64) * 3).to(torch.float8_e5m2)
    right = torch.randint(0, 256, (32, 32), dtype=torch.uint8)
    left_scale, right_scale = torch.randint(120, 134, (2, 32, 2), dtype=torch.uint8)
    out = torch.empty(32, 32)

    launch(
        language.scaled_product,
        (1,),
        {"a": left, "a_scale": left_scale, "b": right, "b_scale": right_scale, "out": out},
    )

    magnitudes = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    e2m1 = np.concatenate([magnitudes, -magnitudes])
    halves = np.stack([right.numpy() & 15, right.numpy() >> 4], axis=1)
    decoded = e2m1[halves].reshape(64, 32)
    a = left.float().numpy() * 2.0 ** np.repeat(left_scale.numpy().astype(int) - 127, 32, axis=1)
    b = decoded * 2.0 ** np.repeat(right_scale.numpy().astype(int) - 127, 32, axis=1).T
    np.testing.assert_allclose(out.numpy(), a @ b, rtol=1e-4, atol=1e-3)


def test_early_returns_stop_only_the_programs_that_take_them():
    flags = torch.tensor([2, 0, -5, 3, 0], dtype=torch.int32)
    x, out = torch.randn(150), torch.full((150,), 7.0)

    launch(
        language.early_return, (5,), {"flags": flags, "x": x, "out": out, "n": 150}, {"BLOCK": 32}
    )

    expected = torch.cat(
        [x[:32] * 2, torch.full((32,), 7.0), torch.full((32,), -1.0), x[96:128] * 3]
    )
    assert torch.equal(out[:128], expected)
    assert torch.equal(out[128:], torch.full((22,), 7.0))


def test_while_loops_run_as_long_as_each_program_needs():
    start = torch.tensor([1, 2, 3, 6, 7, 27, 97], dtype=torch.int32)
    out = torch.empty(7, dtype=torch.int32)

    launch(language.collatz_steps, (7,), {"start": start, "out": out, "n": 7}, {"BLOCK": 1})

    assert out.tolist() == [0, 1, 7, 8, 16, 111, 118]


def test_loop_bounds_may_differ_between_programs():
    lengths = torch.tensor([0, 1, 33, 100, 64], dtype=torch.int32)
    x, out = torch.randn(5, 100), torch.empty(5)

    launch(
        language.ragged_sums,
        (5,),
        {"lengths": lengths, "x": x, "out": out, "stride": 100},
        {"BLOCK": 32},
    )

    expected = torch.stack([row[:n].sum() for row, n in zip(x, lengths.tolist(), strict=True)])
    torch.testing.assert_close(out, expected)


def test_a_pointer_may_be_one_of_two_tensors():
    left, right, out = torch.randn(3, 200)

    launch(
        language.one_of_two,
        (7,),
        {"left": left, "right": right, "out": out, "n": 200},
        {"BLOCK": 32},
    )

    odd = (torch.arange(200) // 32) % 2 == 1
    assert torch.equal(out, torch.where(odd, right, left))


def test_functions_that_are_not_inlined_are_called():
    x, out = torch.randn(16), torch.empty(48)

    launch(language.calling, (3,), {"x": x, "out": out, "n": 5}, {"BLOCK": 16})

    expected = torch.cat([x + (pid * 2 + 5) * 10 + pid - 5 for pid in range(3)])
    torch.testing.assert_close(out, expected)


def test_a_failed_device_assertion_says_where():
    x = torch.tensor([1, 2, -3], dtype=torch.int32)

    launch(language.asserting, (1,), {"x": x.abs(), "n": 3}, {"BLOCK": 4}, debug=True)
    with pytest.raises(DeviceAssertion, match=r"language\.py:\d+.*'asserting'.*negative value"):
        launch(language.asserting, (1,), {"x": x, "n": 3}, {"BLOCK": 4}, debug=True)


def test_accesses_that_are_not_aligned_still_move_the_right_bytes():
    x, out = torch.randn(32), torch.zeros(64)

    launch(language.through_integers, (1,), {"x": x, "out": out, "shift": 66}, {"BLOCK": 32})

    raw = out.view(torch.uint8)
    assert torch.equal(raw[66 : 66 + 128], x.view(torch.uint8))
    assert not raw[:66].any()
    assert not raw[194:].any()
