"""The rule descriptor-contract beyond its corpus: targets, large grids, contents, recordings."""

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

import kvtrace
from kvtrace.evaluate import parsed
from kvtrace.verdicts.binding import Budget
from kvtrace.verdicts.judge import judge
from tests.support.compile_ttir import compile_generic
from tests.support.defects import CORPUS
from tests.support.replacing import replace
from tests.verdicts.calls import call, tensor

RULE = "descriptor-contract"


@triton.jit
def filled(out, rows, columns, pitch, R: tl.constexpr, C: tl.constexpr):
    target = tl.make_tensor_descriptor(out, [rows, columns], [pitch, 1], [R, C])
    tile = tl.full((R, C), 3, out.dtype.element_ty)
    target.store([tl.program_id(0) * R, tl.program_id(1) * C], tile)


@triton.jit
def filled_from(out, starts, columns, pitch, C: tl.constexpr):
    """Rows begin where a table says."""
    start = tl.load(starts + tl.program_id(0))
    target = tl.make_tensor_descriptor(out + start, [1, columns], [pitch, 1], [1, C])
    target.store([0, 0], tl.full((1, C), 3, out.dtype.element_ty))


@triton.jit
def added_before(out, at, R: tl.constexpr, C: tl.constexpr):
    target = tl.make_tensor_descriptor(out, [8, 64], [64, 1], [R, C])
    target.atomic_add([at, 0], tl.full((R, C), 3, out.dtype.element_ty))


@triton.jit
def read_before(out, at, R: tl.constexpr, C: tl.constexpr):
    target = tl.make_tensor_descriptor(out, [8, 64], [64, 1], [R, C])
    tl.store(out + tl.arange(0, C), tl.sum(target.load([at, 0]), 0))


@triton.jit
def filled_by(target, R: tl.constexpr, C: tl.constexpr):
    target.store([tl.program_id(0) * R, tl.program_id(1) * C], tl.full((R, C), 3, tl.float32))


def table(columns, grid=(2, 2), pitch=64, rows=8):
    sizes = {"rows": rows, "columns": columns, "pitch": pitch, "R": 4, "C": 32}
    return call(filled, grid, out=tensor(rows, pitch), **sizes)


def verdict(of, **settings):
    (found,) = [each for each in judge(of, [RULE], **settings) if each.rule == RULE]
    return found


def for_target(of, target):
    return replace(of, module=replace(of.module, target=target))


@pytest.mark.parametrize("target", ["cuda:80", "hip:gfx950"])
def test_targets_without_descriptors_copy_by_pointers(target):
    assert judge(for_target(table(5), target), [RULE]) == []


def test_a_descriptor_of_an_unrecorded_target_is_unknown():
    found = verdict(for_target(table(8), ""))

    expected = ("unknown", "the kernel's compilation target was not recorded")
    assert (found.verdict, found.reason) == expected


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"columns": 37, "pitch": 37}, "meets the rules of AMD's data mover (in every program)"),
        ({"columns": 8, "pitch": 1 << 32}, "17179869184 bytes along axis 0 is not in 0 to"),
        ({"columns": 8, "pitch": -8}, "a stride of -32 bytes along axis 0 is not in 0 to below"),
        ({"columns": -1, "pitch": 8}, "an extent of -1 along axis 1 is not in 0 to 2^32"),
        ({"columns": 0, "pitch": 8}, "meets the rules"),
    ],
)
def test_gfx1250_has_bits_for_extents_and_strides(sizes, message):
    found = verdict(for_target(table(**sizes), "hip:gfx1250"))

    assert message in found.message
    assert found.verdict == ("proven" if "meets" in message else "violation")


@pytest.mark.parametrize("dtype", ["fp32", "fp16"])
@pytest.mark.parametrize(
    ("kernel", "at", "answer"),
    [(added_before, -1, "violation"), (added_before, 7, "proven"), (read_before, -1, "proven")],
)
def test_only_writes_must_not_start_at_a_negative_row(kernel, at, answer, dtype):
    found = verdict(call(kernel, (1,), out=tensor(8, 64, dtype=dtype), at=at, R=4, C=32))

    assert found.verdict == answer
    assert answer == "proven" or "the block starts at -1 along axis 0" in found.message


def test_a_witness_says_what_is_written_past_the_extent():
    found = verdict(table(37))

    assert found.message == (
        "store by descriptor writes elements 37 to 39 of the inner axis, past its extent of 37: "
        "cuda:90 writes whole chunks of 16 bytes"
    )
    assert (found.program, found.lane, found.address_offset) == ((0, 1, 0), (0, 5), 4 * 37)


def test_a_grid_of_a_billion_programs_is_decided_by_formulas():
    grid = (1 << 20, 1 << 10)
    size = {"grid": grid, "rows": 1 << 22, "pitch": 1 << 15}
    budget = Budget(lanes=0)

    proven, violated = (verdict(table(n, **size), budget=budget) for n in (1 << 15, 32765))

    assert (proven.verdict, violated.verdict) == ("proven", "violation")
    assert proven.method in ("interval", "affine")
    assert violated.program == (0, 1023, 0)


def test_the_largest_extent_is_rounded_up_beyond_32_bits():

    found = verdict(table(2**31 - 1, grid=(1, 1), pitch=2**31 - 1 & ~15))

    assert found.verdict == "proven"  # the one tile ends long before


@pytest.mark.parametrize(
    ("starts", "answer"),
    [([0, 8, 64, 72], "proven"), ([0, 8, 62, 72], "violation"), (None, "unknown")],
)
def test_a_pointer_loaded_from_memory_is_judged_by_its_recorded_value(starts, answer):
    data = None if starts is None else np.array(starts, np.int32)
    found = verdict(
        call(
            filled_from, (4,), out=tensor(128), starts=tensor(4, dtype="i32", data=data),
            columns=8, pitch=8, C=8,
        )
    )  # fmt: skip

    assert found.verdict == answer
    if answer == "proven":
        assert "for the recorded contents of starts" in found.message
    if answer == "violation":
        assert found.program == (2, 0, 0)
        assert "the descriptor's base is 8 bytes past a multiple of 16" in found.message
    if answer == "unknown":
        assert "starts" in found.reason


def test_each_sample_says_what_breaks_the_contract():
    words = {
        "descriptor from a base between multiples of 16 bytes": "base is 8 bytes past",
        "descriptor with rows of 60 16-bit floats, 120 bytes": "a stride of 120 bytes along axis 0",
        "descriptor's tiles moved by two columns": "the block starts 8 bytes along the inner axis",
        "descriptor's tiles that begin before the first column": "starts at -4 along axis 1",
        "descriptor without rows": "an extent of 0 along axis 0 is not in 1 to 2^32",
        "descriptor read from a column between chunks": "load by descriptor: the block starts 12",
        "descriptor adds past its columns in the last tile": "elements 45 to 47 of the inner axis",
    }
    samples = {sample.name: sample for sample in CORPUS}

    for name, part in words.items():
        assert part in verdict(samples[name].call()).message


# -- recorded, and judged later -------------------------------------------------------------------


def recorded(folder, run):
    """Record what runs, and return the verdicts and messages of the rule, without a GPU."""
    with kvtrace.capture(folder, compile="ttir"):
        run()
    found = kvtrace.open(folder).sanitize(RULE, proven=True)
    return [(finding.verdict, finding.message) for finding in found]


@pytest.mark.costly("a recording; calls that are written by hand stay by day")
def test_a_recording_is_judged_for_what_its_kernels_were_compiled_for(tmp_path):
    tables = [torch.zeros(8, 64) for _ in range(2)]

    def run():
        for out, columns in zip(tables, (37, 40), strict=True):
            filled[(2, 2)](out, 8, columns, 64, R=4, C=32)

    (first, _), (second, _) = recorded(tmp_path / "out", run)

    assert (first, second) == ("violation", "proven")
    assert [int((out != 0).sum()) for out in tables] == [8 * 40, 8 * 40]


def test_descriptors_created_on_the_host_are_judged(tmp_path):
    from triton.tools.tensor_descriptor import TensorDescriptor

    out = torch.zeros(8, 64)

    def run():
        for columns in (37, 40):
            filled_by[(2, 2)](TensorDescriptor(out, [8, columns], [64, 1], [4, 32]), R=4, C=32)

    (first, message), (second, _) = recorded(tmp_path / "out", run)

    assert (first, second) == ("violation", "proven")
    assert "elements 37 to 39 of the inner axis" in message


def test_ir_of_an_older_target_has_no_descriptors_left():
    constants = {"R": 4, "C": 32}
    types = {"out": "*fp32", "rows": "i32", "columns": "i32", "pitch": "i32"}
    signature = types | dict.fromkeys(constants, "constexpr")
    from triton.backends.compiler import GPUTarget

    text = compile_generic(filled, signature, constants, target=GPUTarget("cuda", 80, 32))
    older = replace(table(37), module=parsed(text, "cuda:80"))

    assert "tensordesc" not in text
    assert {each.verdict for each in judge(older)} == {"proven"}
    assert judge(older, [RULE]) == []


# -- descriptors that change ----------------------------------------------------------------------


@triton.jit
def carried(x, out, n, BLOCK: tl.constexpr):
    block = tl.make_tensor_descriptor(x, [n], [1], [BLOCK])
    for trip in range(4):
        tl.store(out + trip * BLOCK + tl.arange(0, BLOCK), block.load([0]))
        block = tl.make_tensor_descriptor(x + (trip + 1) * BLOCK, [n], [1], [BLOCK])


@triton.jit
def chosen(x, out, n, BLOCK: tl.constexpr):
    block = tl.make_tensor_descriptor(x, [n], [1], [BLOCK])
    for trip in range(4):
        if trip > 1:
            block = tl.make_tensor_descriptor(x + trip * BLOCK, [n], [1], [BLOCK])
        tl.store(out + trip * BLOCK + tl.arange(0, BLOCK), block.load([0]))


@pytest.mark.parametrize("kernel", [carried, chosen])
@pytest.mark.parametrize(("room", "answer"), [(128, "violation"), (512, "proven")])
def test_a_descriptor_that_a_loop_carries_is_not_the_first_one(kernel, room, answer):
    of = call(kernel, (1,), x=tensor(room, room=room), out=tensor(256), n=128, BLOCK=64)
    found = {v.verdict for v in judge(of, ["out-of-bounds"]) if v.access == "load"}
    assert found <= {answer, "unknown"}
