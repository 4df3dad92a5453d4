"""Corners of the language: scalar maps, addresses, control flow, narrow floats."""

import numpy as np
import pytest
import torch

from corpus.kernels import language
from kvtrace.evaluate import (
    DeviceAssertion,
    UnknownAddress,
    UnsupportedOp,
    assembly,
    evaluate,
    registry,
)
from tests.kernels.launching import bind, compile_for, launch
from tests.kernels.recording import Recorder
from tests.support.triton_versions import before, since


def test_map_elementwise_runs_scalar_code_for_each_lane():
    x, y, out, other = torch.randn(4, 64)

    launch(language.mapped, (2,), {"x": x, "y": y, "out": out, "other_out": other}, {"BLOCK": 32})

    torch.testing.assert_close(out, x * y + 1 + x - y)
    torch.testing.assert_close(other, torch.where(x > y, x, y * 2))


@since(3, 7, "squeeze, unsqueeze and to_tensor")
def test_axes_of_extent_1_are_added_and_removed():
    x, out = torch.randn(2, 32)

    launch(language.squeezed, (1,), {"x": x, "out": out}, {"BLOCK": 32})

    assert torch.equal(out, x + 2)


@since(3, 8, "expect_zero")
def test_an_expected_zero_is_the_value_and_is_asserted_in_debug_builds():
    x, out = torch.tensor([0.0, 2.0, 3.0, 0.0]), torch.empty(4)
    arguments = {"x": x, "out": out, "least": 1.0}

    launch(language.expecting_zeros, (1,), arguments, {"BLOCK": 4}, debug=True)

    assert torch.equal(out, x)
    x[1] = 0.5
    launch(language.expecting_zeros, (1,), arguments, {"BLOCK": 4})
    assert torch.equal(out, x)
    with pytest.raises(DeviceAssertion):
        launch(language.expecting_zeros, (1,), arguments, {"BLOCK": 4}, debug=True)


def test_known_assembly_runs_and_unknown_assembly_is_refused_by_name():
    x, out = torch.randn(2, 32)

    launch(language.inline_tanh, (1,), {"x": x, "out": out}, {"BLOCK": 32})

    torch.testing.assert_close(out, torch.tanh(x))
    with pytest.raises(UnsupportedOp) as refused:
        launch(language.unknown_assembly, (1,), {"x": x, "out": out}, {"BLOCK": 32})
    text = str(refused.value)
    assert "tt.elementwise_inline_asm" in text
    assert "the instruction 'shfl.sync.bfly.b32'" in text
    assert "kvtrace.evaluate.assembly" in text
    assert "language.py:" in text
    assert "unknown_assembly" in text


def test_a_python_function_can_be_registered_for_assembly(monkeypatch):
    monkeypatch.setattr(registry, "ASSEMBLY", dict(registry.ASSEMBLY))
    monkeypatch.setattr("kvtrace.evaluate.dialects.tt_inline.ASSEMBLY", registry.ASSEMBLY)
    x, y, out, other = torch.randn(4, 32)

    @assembly("add.f32 $0,$2,$3; mul.f32 $1, $2, $3")
    def sum_and_product(a, b):
        return a + b, a * b

    launch(
        language.swapped_operands,
        (1,),
        {"x": x, "y": y, "out": out, "other_out": other},
        {"BLOCK": 32},
    )

    assert torch.equal(out, y - x)
    assert torch.equal(other, (x + y) + x * y)


def test_a_registered_instruction_may_have_a_constant_operand():
    x, out = torch.randint(-99, 99, (2, 32), dtype=torch.int32)
    launch(language.shifted_words, (1,), {"x": x, "out": out}, {"BLOCK": 32})
    assert torch.equal(out, x << 3)


def test_a_kernel_can_read_its_processor_id_and_the_time():
    out = torch.full((3,), -1)
    launch(language.asks_the_processor, (1,), {"out": out})
    assert out[0] > 10**18
    assert out[1] == 0
    assert 0 <= out[2] < 10**10


def test_map_elementwise_with_pack_runs_several_lanes_at_once():
    x, y, out = torch.randn(3, 64)

    launch(language.mapped_in_pairs, (2,), {"x": x, "y": y, "out": out}, {"BLOCK": 32})

    expected = torch.where(torch.arange(64) % 2 == 0, x + y, x * y)
    torch.testing.assert_close(out, expected)


def test_atomics_through_a_pointer_to_one_of_three_tensors():
    targets = [torch.zeros(8, dtype=torch.int32) for _ in range(3)]
    counts = torch.empty(7, 8, dtype=torch.int32)
    names = ("first", "second", "third")

    launch(
        language.any_of_three,
        (7,),
        {"counts": counts, **dict(zip(names, targets, strict=True))},
        {"BLOCK": 8},
    )

    # Programs 0, 3 and 6 share the first tensor, 1 and 4 the second, 2 and 5 the third.
    assert [int(t[5]) for t in targets] == [1 + 4 + 7, 2 + 5, 3 + 6]
    assert counts[:, 3].tolist() == [0, 0, 0, 1, 2, 3, 5]


def test_addresses_in_memory_find_the_arguments_that_they_lie_in():
    first, second, third = torch.randn(3, 16).clone().unbind(0)
    tensors = [t.clone() for t in (first, second, third)]
    before = [t.clone() for t in tensors]
    order = [2, 0, 1]
    table = torch.tensor([tensors[i].data_ptr() for i in order])
    out = torch.empty(3, 16)
    named = dict(zip(("first", "second", "third"), tensors, strict=True))

    launch(language.table_of_arguments, (3,), {"table": table, **named, "out": out}, {"BLOCK": 16})

    assert torch.equal(out, torch.stack([before[i] for i in order]))
    for now, then in zip(tensors, before, strict=True):
        assert torch.equal(now, then + 1)


def test_device_print_prints_the_lines_of_a_gpu(capsys):
    x = torch.tensor([1.5, -2.0, 3.0, 0.25])

    launch(language.printing, (2,), {"x": x}, {"BLOCK": 2})

    assert sorted(capsys.readouterr().out.splitlines()) == sorted(
        [
            "pid (0, 0, 0) idx (0) pair: (operand 0) 1.500000",
            "pid (0, 0, 0) idx (1) pair: (operand 0) -2.000000",
            "pid (0, 0, 0) idx (0) pair: (operand 1) 0",
            "pid (0, 0, 0) idx (1) pair: (operand 1) 1",
            "pid (1, 0, 0) idx (0) pair: (operand 0) 3.000000",
            "pid (1, 0, 0) idx (1) pair: (operand 0) 0.250000",
            "pid (1, 0, 0) idx (0) pair: (operand 1) 0",
            "pid (1, 0, 0) idx (1) pair: (operand 1) 1",
            "pid (0, 0, 0) idx () bits: 0x00000000",
            "pid (1, 0, 0) idx () bits: 0x00000001",
            "pid (0, 0, 0) here",
            "pid (1, 0, 0) here",
            f"pid (0, 0, 0) idx () at: {x.data_ptr():#x}",
            f"pid (1, 0, 0) idx () at: {x.data_ptr():#x}",
        ]
    )


def test_device_print_prints_nothing_for_unknown_data(capsys):
    launch(language.printing, (2,), {"x": torch.zeros(4)}, {"BLOCK": 2}, unknown=True)
    assert capsys.readouterr().out == ""


def test_a_launch_that_is_only_judged_prints_nothing(capsys):
    arguments = {"x": torch.zeros(4)}
    bound = bind(language.printing, arguments)
    bound[0].storage.is_live = False  # a record of the program's memory, and not that memory
    module = compile_for(language.printing, arguments, {"BLOCK": 2})
    evaluate(module, bound, (2,))
    assert capsys.readouterr().out == ""


def test_processor_id_and_time_are_unknown_unless_a_launch_is_executed():
    out = torch.full((3,), -1)
    bound = bind(language.asks_the_processor, {"out": out})
    bound[0].storage.is_live = False
    evaluate(compile_for(language.asks_the_processor, {"out": out}, {}), bound, (1,))
    assert out.tolist() == [-1, -1, -1]


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


def test_pointers_made_from_integers_access_the_tensor_at_the_address():
    x, out = torch.randn(32), torch.zeros(64)

    launch(language.through_integers, (1,), {"x": x, "out": out, "shift": 128}, {"BLOCK": 32})

    assert torch.equal(out[32:], x)
    assert not out[:32].any()


@before(3, 9, "pointers to pointers")  # its compiler aborts the process
def test_pointers_to_no_tensor_can_be_stored_and_compared():
    x, table = torch.zeros(8), torch.zeros(8, dtype=torch.int64)
    equal = torch.full((3,), -1, dtype=torch.int32)
    arguments = {"x": x, "table": table, "equal": equal, "number": 3 << 40}

    launch(language.stored_pointers, (1,), arguments, {"BLOCK": 4})

    numbers = [(3 << 40) + 8 * lane + 4 for lane in range(4)]
    assert table.tolist() == [x.data_ptr() + 12, *numbers, 0, 0, 0]
    assert x.tolist() == [0, 0, 0, 7, 0, 0, 0, 0]
    assert equal.tolist() == [1, 8, 0]


def test_an_address_in_a_shared_storage_belongs_to_the_argument_whose_view_contains_it():
    whole = torch.arange(48.0)
    table = torch.tensor([whole[16 * n :].data_ptr() for n in (2, 1, 0)])
    parts = dict(zip(("first", "second", "third"), whole.split(16), strict=True))
    out, recorder = torch.empty(3, 16), Recorder()

    launch(
        language.table_of_arguments,
        (3,),
        {"table": table, **parts, "out": out},
        {"BLOCK": 16},
        observers=[recorder],
    )

    assert torch.equal(out, torch.arange(48.0).reshape(3, 16).flip(0))
    assert not recorder.defects


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


def test_while_loops_have_their_own_trips_in_each_program():
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


def test_a_failed_device_assertion_names_its_line_and_program():
    x = torch.tensor([1, 2, -3], dtype=torch.int32)

    launch(language.asserting, (1,), {"x": x.abs(), "n": 3}, {"BLOCK": 4}, debug=True)
    with pytest.raises(
        DeviceAssertion, match=r"language\.py:\d+.*'asserting', program \(0, 0, 0\).*negative value"
    ):
        launch(language.asserting, (1,), {"x": x, "n": 3}, {"BLOCK": 4}, debug=True)


def test_a_failed_assertion_in_a_combining_region_names_its_line():
    out = torch.zeros(2, 5, dtype=torch.int32)
    x = torch.tensor([[1, 2, 3, 4], [1, 2, -3, 4]], dtype=torch.int32)
    given = {"x": x, "out": out}

    launch(language.asserting_while_combining, (1,), given, {"BLOCK": 4}, debug=True)
    assert out[0].tolist() == [10, 1, 3, 6, 10]
    with pytest.raises(DeviceAssertion, match=r"program \(1, 0, 0\).*negative element"):
        launch(language.asserting_while_combining, (2,), given, {"BLOCK": 4}, debug=True)


def test_unaligned_accesses_read_and_write_the_right_bytes():
    x, out = torch.randn(32), torch.zeros(64)

    launch(language.through_integers, (1,), {"x": x, "out": out, "shift": 66}, {"BLOCK": 32})

    raw = out.view(torch.uint8)
    assert torch.equal(raw[66 : 66 + 128], x.view(torch.uint8))
    assert not raw[:66].any()
    assert not raw[194:].any()
