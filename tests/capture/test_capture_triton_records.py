"""Kernels and calls as Triton's launches leave them in a trace, with every Triton at hand."""

import pytest

import kvtrace
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace
from tests.support.tiers import needs
from tests.support.triton_versions import run_with, versions

pytest.importorskip("triton")

PROGRAM = """
import sys
import torch, triton, triton.language as tl
import kvtrace
from triton import knobs

heard = []
knobs.compilation.listener = lambda **facts: heard.append(facts["cache_hit"])


@triton.jit
def scale(x, out, size, factor, flag, pair, BLOCK: tl.constexpr, NAME: tl.constexpr = "plain"):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + index, mask=index < size) * factor * pair[0]
    tl.store(out + index, value, mask=index < size)


@triton.autotune(configs=[triton.Config({"BLOCK": b}) for b in (64, 128)], key=["size"])
@triton.jit
def tuned(x, out, size, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + index, tl.load(x + index, mask=index < size) * 2, mask=index < size)


with kvtrace.capture(sys.argv[1]):
    x = torch.arange(100.0)
    out = torch.empty(100)
    for _ in range(2):
        scale[(2,)](x, out, 100, 2.0, True, (3, 1), BLOCK=64)
    scale[(2,)](x, out, size=100, factor=2.0, flag=True, pair=(3, 1), BLOCK=64)
    assert torch.equal(out, x * 6)
    scale[(2, 1, 1)](x, out, 100, 2.0, True, (3, 1), 64)
    scale[lambda meta: (meta["BLOCK"] // 32,)](x[1:], out[1:], 99, 2.0, True, (3, 1), BLOCK=64)
    tuned[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](x, out, 100)
    kernel = tuned.fn.warmup(x, out, 100, BLOCK=32, grid=(1,))
    kernel[(4, 1, 1)](x, out, 100, 32)
    assert torch.equal(out, x * 2)
print(len(heard))
print(type(knobs.compilation.listener).__name__)
"""


@pytest.fixture(scope="module", params=versions())
@needs("process")
def recorded(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded") / "a földer, 名前"
    folder.mkdir()
    (folder / "program.py").write_text(PROGRAM)
    arguments = [str(folder / "program.py"), str(folder / "out")]
    done = run_with(request.param, arguments, folder / "c", fresh=True)
    return done, open_trace(folder / "out"), folder


def rows(trace, table, *columns):
    return trace.table(table, columns=list(columns) or None).to_pylist()


KERNEL_COLUMNS = tuple(
    column.name for column in TABLES["kernels"].columns if column.name != "compile_begin"
)


@pytest.mark.process
def test_run_has_only_the_expected_messages(recorded):
    _, trace, _ = recorded
    codes = set(trace.table("messages").column("code").to_pylist())
    assert codes == {"device-free", "tuned"}


def test_users_compilation_listener_is_called_and_restored(recorded):
    done, trace, _ = recorded
    compiled, listener = done.stdout.split()
    assert int(compiled) == trace.table("kernels").num_rows
    assert listener == "function"


def test_kernel_row_has_source_stages_and_resources(recorded):
    _, trace, folder = recorded
    first = rows(trace, "kernels", *KERNEL_COLUMNS)[0]
    lines = PROGRAM.splitlines()
    assert (first["name"], first["module"], first["origin"]) == ("scale", "__main__", "jit")
    assert first["file"] == str(folder / "program.py")
    assert lines[first["line"] - 1].startswith("def scale(")
    assert trace.artifact(first["source_artifact"]).decode().startswith("def scale(")
    assert [file["path"] for file in first["files"]] == [first["file"]]
    kept = trace.artifact(first["files"][0]["artifact"]).decode().splitlines()
    assert all(line in ("", lines[number]) for number, line in enumerate(kept))
    assert kept[first["line"] - 1].startswith("def scale(")
    assert "import kvtrace" not in kept  # the rest of the program is nobody's business
    assert (first["target"], first["warp_size"], first["num_warps"]) == ("cuda:90", 32, 4)
    assert first["registers"] > 0
    assert (first["spills"], first["cache_hit"]) == (0, False)
    assert len(first["cache_key"]) == 64


def test_stages_are_in_order_with_their_times(recorded):
    _, trace, _ = recorded
    first = rows(trace, "kernels", *KERNEL_COLUMNS)[0]
    stages = {stage["stage"]: stage for stage in first["stages"]}
    names = [name for name in stages if stages[name]["artifact"]]
    assert names == ["ttir", "ttir_generic", "ttgir", "llir", "ptx", "cubin"]
    times = [stage["duration_ns"] for stage in first["stages"] if stage["duration_ns"] is not None]
    assert sum(times) == first["compile_ns"] > 0
    assert b'"tt.func"' in trace.artifact(stages["ttir_generic"]["artifact"])
    assert trace.artifact(stages["cubin"]["artifact"]).startswith(b"\x7fELF")


def test_each_stage_names_its_dialect_and_the_compiler_that_made_it(recorded):
    _, trace, _ = recorded
    (run,) = trace.runs
    version = run.versions["triton"]
    names = ("kind", "dialect", "producer", "producer_version")
    made = {tuple(row[name] for name in names) for row in rows(trace, "artifacts", *names)}

    assert {
        ("ttir", "triton", "triton", version),
        ("ttgir", "triton-gpu", "triton", version),
        ("ptx", "ptx", "triton", version),
        ("cubin", None, "triton", version),
        ("source", None, None, None),
    } <= made


def test_the_recording_names_itself(recorded):
    (run,) = recorded[1].runs

    assert (run.producer, run.producer_version) == ("kvtrace", kvtrace.__version__)
    assert run.required_features == ()  # without a GPU, no trial is launched


def test_the_signature_is_flattened_and_names_divisibility(recorded):
    _, trace, _ = recorded
    first, other = rows(trace, "kernels", *KERNEL_COLUMNS)[:2]
    parameters = [(p["name"], p["type"], p["constexpr"]) for p in first["signature"]]
    assert parameters == [
        ("x", "*fp32", None),
        ("out", "*fp32", None),
        ("size", "i32", None),
        ("factor", "fp32", None),
        ("flag", "i1", None),
        ("pair.0", "i32", None),
        ("pair.1", "constexpr", "1"),
        ("BLOCK", "constexpr", "64"),
        ("NAME", "constexpr", "'plain'"),
    ] or parameters[4] == ("flag", "u1", None)
    assert first["signature"][0]["divisibility"] == 16
    assert other["signature"][0]["divisibility"] is None  # x[1:] is not aligned


def test_arguments_by_position_name_or_default_are_one_call(recorded):
    _, trace, _ = recorded
    calls = rows(trace, "calls")
    launches = trace.table("launches").column("call_id").to_pylist()
    assert launches[:5] == [0, 0, 0, 0, 1]
    assert [len(call["args"]) for call in calls[:2]] == [9, 9]
    scalars = [arg["scalar"] for arg in calls[0]["args"]]
    assert scalars == [None, None, "100", "2.0", "True", "3", "1", "64", "'plain'"]
    assert [arg["kind"] for arg in calls[0]["args"]][-4:] == ["scalar", *["constexpr"] * 3]
    assert (calls[0]["grid_x"], calls[0]["grid_y"], calls[0]["grid_z"]) == (2, 1, 1)
    assert calls[1]["args"][0]["offset_bytes"] == 4
    assert calls[1]["args"][0]["storage_bytes"] == 400


def test_stacks_end_at_the_launching_line(recorded):
    _, trace, folder = recorded
    stacks = {row["stack_id"]: row["frames"] for row in rows(trace, "stacks")}
    lines = PROGRAM.splitlines()
    for call in rows(trace, "calls"):
        (frame,) = stacks[call["stack_id"]]
        assert frame["file"] == str(folder / "program.py")
        assert "[" in lines[frame["line"] - 1]
        assert lines[frame["line"] - 1][frame["column"] - 1] != " "


def test_trials_of_autotuning_have_the_phase_autotune(recorded):
    _, trace, _ = recorded
    phases = trace.table("launches").column("phase").to_pylist()
    assert phases == ["run"] * 7  # without a GPU, no trial is launched
    origins = [row["origin"] for row in rows(trace, "kernels", "origin")]
    assert origins == ["jit", "jit", "autotune", "jit"]


def test_launch_of_a_compiled_kernel_is_recorded(recorded):
    _, trace, _ = recorded
    last = rows(trace, "calls")[-1]
    assert last["grid_x"] == 4
    assert [arg["name"] for arg in last["args"]] == ["x", "out", "size", "BLOCK"]
    assert last["args"][3]["scalar"] == "32"
