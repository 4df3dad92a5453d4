"""Stores past descriptors' extents are found, and laid to the hardware, not to the compiler."""

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

import kvtrace
from kvtrace.addons.check.checking import fault_of
from kvtrace.addons.check.comparing import compared, computed
from kvtrace.addons.check.stage_faults import Fault, fault_in, message_with_fault
from kvtrace.evaluate import evaluate, parsed
from tests.addons.check.launched import Launched
from tests.support.replacing import replace

F32 = np.float32


@triton.jit
def filled(out, columns, PITCH: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    target = tl.make_tensor_descriptor(out, [8, columns], [PITCH, 1], [R, C])
    target.store([tl.program_id(0) * R, tl.program_id(1) * C], tl.full((R, C), 3, tl.float32))


def launched(columns, out=None):
    out = np.full((8, 64), 7, F32) if out is None else out
    return Launched(
        filled, {"out": out, "columns": columns}, ("out",), {"PITCH": 64, "R": 4, "C": 32}, (2, 2)
    )


def on_hopper(launched, change=lambda out: out):
    """The launch of a device that stores as Hopper does, but for a change of what it left."""
    call = launched.call()
    module = replace(call.module, target="cuda:90")
    evaluate(module, call.arguments, call.grid)
    memory = launched.alive["out"].numpy().copy()
    plain = launched.launch({"out": change(memory)})
    return replace(plain, call=lambda: replace(plain.call(), module=module))


def fault(launch, ttgir):
    return fault_of(launch, computed(launch).known, lambda _call_id: parsed(ttgir))


@pytest.mark.parametrize("columns", [5, 37, 62])
def test_store_past_an_extent_differs_and_is_not_attributed_to_the_compiler(columns):
    made = launched(columns)
    launch = on_hopper(made)
    came = compared(computed(launch))
    found = fault(launch, made.ttgir())

    assert came.answer == "differs"
    assert len(came.tensors[0].differing) == 8 * (-columns % 4)
    assert found.stage == "descriptor stores"
    assert found.text == (
        "the cause is descriptor-contract: cuda:90 writes whole chunks of 16 bytes, past a "
        "descriptor's inner extent; apart from these, memory is what the IR means"
    )


@pytest.mark.parametrize("columns", [36, 64])
def test_descriptor_stores_of_whole_chunks_agree(columns):
    assert compared(computed(on_hopper(launched(columns)))).answer == "agrees"


def test_descriptor_store_within_extents_agrees():
    made = launched(37)
    launch = replace(on_hopper(made), after=made.launch(made.meant()).after)

    assert compared(computed(launch)).answer == "agrees"


def test_difference_unexplained_by_chunks_is_attributed_behind_ttgir():
    def wrong(out):
        out[3, 3] += 64
        return out

    made = launched(37)
    found = fault(on_hopper(made, wrong), made.ttgir())

    assert (found.stage, found.reason) == (
        "behind ttgir",
        "the TTGIR has the same values as the TTIR",
    )


def test_stage_at_fault_is_parsed_from_a_message():
    cause = Fault("descriptor stores", "cuda:90 writes more")

    assert fault_in(message_with_fault("8 elements are wrong", cause)) == cause


def test_check_names_the_rule(tmp_path, capsys):
    from kvtrace.cli import main

    out = torch.zeros(8, 64)
    with kvtrace.capture(tmp_path / "out", check="first", compile="ttir"):
        filled[(2, 2)](out, 37, PITCH=64, R=4, C=32)

    assert main(["check", str(tmp_path / "out")]) == 1
    printed = capsys.readouterr().out
    assert "24 of 512 elements are beyond their bounds" in printed
    assert "\n  the cause is descriptor-contract: cuda:90 writes whole chunks" in printed
    (stage,) = kvtrace.open(tmp_path / "out").check().arrow.column("stage").to_pylist()
    assert stage == "descriptor stores"
