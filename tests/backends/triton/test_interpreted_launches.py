"""Interpreted launches are captured like compiled ones, with the IR they would have had."""

from pathlib import Path

import pytest

from kvtrace.ir import parse
from kvtrace.schema.trace import Trace, open_trace
from tests.support.tiers import needs
from tests.support.triton_versions import ROOT, run_with, versions

pytest.importorskip("torch")
pytest.importorskip("triton")

PROGRAM = ROOT / "tests" / "support" / "interpreted_program.py"


@pytest.fixture(scope="module", params=versions())
@needs("process")
def trace(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trace:
    folder = tmp_path_factory.mktemp("interpreted")
    arguments = [str(PROGRAM), str(folder / "out")]
    run_with(request.param, arguments, folder / "cache", TRITON_INTERPRET="1")
    return open_trace(folder / "out")


def test_interpreted_launches_and_unique_calls_are_recorded(trace: Trace) -> None:
    launches = trace.table("launches", columns=["call_id", "phase"]).to_pylist()
    calls = trace.table("calls").to_pylist()
    assert [launch["call_id"] for launch in launches] == [0, 0, 0, 1]
    assert [call["grid_x"] for call in calls] == [4, 8]
    first = {entry["name"]: entry for entry in calls[0]["args"]}
    assert list(first) == ["x", "out", "n", "BLOCK"]
    assert (first["x"]["dtype"], first["x"]["shape"]) == ("fp32", [1000])
    assert (first["n"]["scalar"], first["BLOCK"]["kind"]) == ("1000", "constexpr")
    assert {"size": first["out"]["storage_bytes"]} == {"size": 4000}


def test_kernels_hold_the_ir_for_the_target(trace: Trace) -> None:
    kernels = trace.table("kernels").drop_columns(["compile_begin"]).to_pylist()
    assert [kernel["origin"] for kernel in kernels] == ["interpreter", "interpreter"]
    for kernel, block in zip(kernels, ("256", "128"), strict=True):
        assert kernel["name"] == "shifted"
        assert Path(kernel["file"]) == PROGRAM
        assert kernel["target"].startswith(("cuda:", "hip:"))
        assert kernel["signature"][3]["constexpr"] == block
        stages = {stage["stage"]: stage["artifact"] for stage in kernel["stages"]}
        text = trace.artifact(stages["ttir_generic"])
        assert text is not None
        module = parse(text.decode())
        assert len(module.main.arguments) == 3
        # one for tl.max, one for the helper's sum: callees are compiled too
        assert [op.name for op in module.ops].count("tt.reduce") == 2
    assert kernels[1]["num_warps"] == 8


def test_an_interpreted_run_has_no_error_messages(trace: Trace) -> None:
    codes = trace.table("messages", columns=["code"]).column("code").to_pylist()
    assert not {"capture-failure", "interpreter-ir", "backend-failed"} & set(codes)


POINTERS = """
import torch, triton, triton.language as tl

@triton.jit
def table_of_pointers(table, out, BLOCK: tl.constexpr):
    pointers = table.to(tl.pointer_type(tl.pointer_type(tl.float32)))
    tl.store(out + tl.arange(0, BLOCK), 2.0)

out = torch.zeros(4)
table_of_pointers[(1,)](torch.zeros(1, dtype=torch.int64), out, BLOCK=4)
assert out.tolist() == [2.0] * 4
"""


@pytest.mark.process
@pytest.mark.parametrize("version", versions())
def test_a_kernel_that_crashes_the_compiler_is_recorded_without_ir(version, tmp_path):
    (tmp_path / "program.py").write_text(POINTERS)
    run_with(
        version, [str(tmp_path / "program.py")], tmp_path / "cache",
        TRITON_INTERPRET="1", KVTRACE=str(tmp_path / "out"),
    )  # fmt: skip

    trace = open_trace(tmp_path / "out")
    (kernel,) = trace.table("kernels", columns=["name", "stages"]).to_pylist()
    messages = trace.table("messages", columns=["text"]).column("text").to_pylist()
    refused = [text for text in messages if "no pointers to pointers" in text]
    assert trace.table("launches").num_rows == 1
    assert bool(refused) == (not kernel["stages"])
