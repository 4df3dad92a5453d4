"""All device time of recorded GPU programs, compared with torch.profiler's of the same run."""

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kvtrace.converters.profile.profile import read_profile
from kvtrace.converters.profile.profile_model import profile_object
from kvtrace.converters.profile.profile_text import profile_text
from kvtrace.figures.identity import kind_of, names_apart
from kvtrace.figures.names import titled
from kvtrace.figures.part_figures import PartFigures
from kvtrace.figures.requested_part import STEADY, WHOLE
from kvtrace.schema.trace import open_trace
from kvtrace.text import display_width

FIXTURES = Path(__file__).parents[1] / "fixtures" / "h200"
PROGRAMS = ("llama", "llama_graphs", "decoding", "llama_ranks")


def profile_of(name, part=STEADY):
    trace = open_trace(FIXTURES / name)
    # torch.profiler looked at rank 0.
    return read_profile(trace, [run for run in trace.runs if not run.rank], part=part)


@pytest.fixture(scope="module", params=PROGRAMS)
def program(request):
    reference = json.loads((FIXTURES / f"{request.param}.json").read_text())
    return profile_of(request.param), reference


def short(demangled):
    """The shown name of what torch.profiler demangled; kvtrace has recorded the symbol."""
    copy = re.match(r"Mem(cpy|set)", demangled)
    return copy[0].lower() if copy else titled(demangled)


def shares(times):
    total = sum(times.values())
    return {name: 100 * time / total for name, time in times.items()}


def test_five_longest_kernels_equal_those_of_torch_profiler(program):
    profile, reference = program
    theirs, ours = Counter(), Counter()
    for name, row in reference["kernels"].items():
        theirs[short(name)] += row["device_ns"] / reference["steps"]
    for row in profile.device_time.rows:
        if row.name in theirs or row.kind == "copy":  # not what a program does once, at its start
            ours[row.name] += row.device_ns if row.step_ns is None else row.step_ns
    collective = max((name for name in theirs if "nccl" in name), key=theirs.get, default=None)
    if collective:  # it waits for the other rank, which differs from step to step
        assert max(theirs, key=theirs.get) == max(ours, key=ours.get) == collective
        del theirs[collective], ours[collective]
    theirs, ours = shares(theirs), shares(ours)
    top = sorted(theirs, key=theirs.get)[-5:]

    fifth = sorted(ours.values())[-5]
    assert all(ours[name] > fifth - 0.2 for name in top)  # two that take as long may change places
    points = 3 if collective else 2  # products slow down while a collective runs beside them
    for name in top:
        assert ours[name] == pytest.approx(theirs[name], abs=points), name


def test_rows_add_up_to_the_busy_time_of_the_device(program):
    time = program[0].device_time

    assert sum(row.device_ns for row in time.rows) == time.device_ns
    assert time.device_ns + time.tuning_ns == time.busy.busy_ns + time.busy.overlapped_ns
    assert sum(row.share for row in time.rows) == pytest.approx(1)
    assert time.busy.idle_ns == time.busy.span_ns - time.busy.busy_ns


def test_every_library_kernel_is_ascribed_to_a_library(program):
    kinds = Counter(row.kind for row in program[0].device_time.rows)

    assert kinds["Triton"]
    assert not kinds["other"], [r.name for r in program[0].device_time.rows if r.kind == "other"]


def test_median_of_a_row_is_over_all_its_executions(program):
    """Of several symbols that are shown alike, too, as those of one template."""
    trace = open_trace(program[0].path)
    table = trace.table("gpu_kernels", trace.runs, ["name", "call_id", "start", "end"])
    lasted = pc.subtract(table["end"].cast(pa.int64()), table["start"].cast(pa.int64()))
    known: dict[str, list[int]] = {}
    for name, call, ns in zip(
        table["name"].to_pylist(), table["call_id"].to_pylist(), lasted.to_pylist(), strict=True
    ):
        if call is None:
            known.setdefault(titled(name), []).append(ns)
    time = PartFigures(trace, trace.runs).device_time
    compared = [
        row for row in time.rows if row.kind != "Triton" and len(known[row.name]) == row.executions
    ]
    assert len(compared) > 5
    assert [row.median_ns for row in compared] == [np.median(known[row.name]) for row in compared]


def test_first_lines_of_the_profile_show_where_device_time_went(program):
    profile, _ = program
    lines = profile_text(profile, width=100)
    time = profile.device_time

    assert all(display_width(line) <= 100 for line in lines[:40])
    assert lines[0].startswith("steady state: ")
    assert any(line.startswith("GPU busy ") and "; idle " in line for line in lines[:3])
    assert "what to try" in lines[:7] or not profile.advice  # a missing rank is said before
    for row in time.rows[:5]:
        start = row.name[:12]
        assert any(line.startswith(start) for line in lines[:40]), row.name
    assert not re.search(r"_ZN?\d", " ".join(lines[:40]))


def test_autotuning_trials_are_separate_rows():
    time = profile_of("llama", WHOLE).device_time

    fills = [row for row in time.rows if row.name == "vectorized_elementwise_kernel<FillFunctor>"]
    assert sum(row.executions for row in fills) < 300 < 4000 < time.tuning_executions
    assert time.tuning_ns > time.device_ns  # the cache is emptied before each trial


@pytest.mark.sweep
def test_repeated_marks_are_the_steps():
    # A first step that takes twice as long as the others is start-up.
    for name, number in (("llama", 10), ("llama_graphs", 9), ("llama_ranks", 10)):
        steps = profile_of(name).device_time.steps
        assert (steps.name, steps.number) == ("step", number)
    both = open_trace(FIXTURES / "llama_ranks")
    assert read_profile(both, both.runs).device_time.steps.number == 20


def test_steps_are_derived_from_the_period_of_launches_without_repeated_marks():
    profile = profile_of("decoding")
    assert (profile.window.how, profile.window.name, profile.window.steps) == ("period", None, 38)
    assert profile.device_time.steps.number == 38


@pytest.mark.parametrize("name", ["llama", "llama_graphs"])
def test_step_duration_equals_that_of_torch_profiler(name):
    reference = json.loads((FIXTURES / f"{name}.json").read_text())
    a_step = sum(row.step_ns for row in profile_of(name).device_time.rows)

    # With graphs, of the step before the first some is still running when that begins.
    most = 1.12 if name == "llama_graphs" else 1.03
    assert 0.97 < a_step / (reference["busy_ns"] / reference["steps"]) < most


def test_copies_and_fills_have_byte_counts():
    rows = {row.name: row for row in profile_of("llama", WHOLE).device_time.rows}

    assert rows["memcpy device to device"].kind == "copy"
    assert rows["memcpy device to device"].bytes == 18_874_438
    assert rows["memset"].kind == "fill"


def test_kernels_of_one_name_get_distinct_names():
    rows = profile_of("llama").device_time.rows
    assert len(set(names_apart(rows))) == len(rows)


def test_device_time_is_none_without_a_device_timeline():
    profile = profile_of("train")
    assert profile.device_time is None
    assert profile_object(profile)["device_time"] is None
    assert profile_text(profile)[0].split()[:3] == ["kernel", "host", "time"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "NCCL"),
        ("nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_NNT", "cuBLAS"),
        ("_ZN8cublasLt19splitKreduce_kernelILi32EEEvv", "cuBLAS"),
        ("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n", "cuBLAS"),
        ("ampere_sgemm_32x128_tn", "cuBLAS"),
        ("turing_fp16_s1688gemm_fp16_128x64_ldg8_f2f_nn", "cuBLAS"),
        ("gemm_sm90_kernel", "a library (by its name)"),
        ("my_sgemm_kernel", "a library (by its name)"),
        ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop", "cuDNN"),
        ("_ZN7cutlass7Kernel2I20cutlass_80_tensoropsEEvNT_6ParamsE", "CUTLASS"),
        ("_ZN2at6native13reduce_kernelILi512ELi1EEEvT_", "torch"),
        ("_ZN5flash16flash_fwd_kernelEv", "FlashAttention"),
        ("_ZN8internal5gemvx6kernelIiEEvT_", "cuBLAS"),
        ("Cijk_Ailk_Bljk_BBS_BH_MT128x128x32", "Tensile"),
        ("void ck::kernel_gemm_xdl_cshuffle_v3<ck::GridwiseGemm<8> >(int)", "CK"),
        ("void dpsk::gemm::fp8_gemm_kernel<24576u>(int)", "other"),
        ("triton_tem_fused_gemm_relu_3", "Inductor"),
        ("_gemm_a8w8_blockscale_kernel", "other"),
        ("my_own_kernel", "other"),
    ],
)
def test_kernel_is_ascribed_to_a_library_by_its_name(name, kind):
    assert kind_of(name) == kind
    assert titled(name)
