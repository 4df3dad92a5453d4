"""Inputs from a recording."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from kvtrace.addons.judge.recorded_inputs import write_recorded_cases
from kvtrace.addons.judge.request import CannotJudge, read_file
from kvtrace.cli import main
from kvtrace.inputs.cases import ScalarInput, read_cases
from tests.support.foreign_producer import COPY, write_foreign
from tests.support.warm_python import warm_python

KERNELS = """
import torch
import triton
import triton.language as tl


@triton.jit
def scaled(x_ptr, out_ptr, step, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x_ptr + i * step, mask=i < n, other=0.0)
    tl.store(out_ptr + i, v * factor, mask=i < n)
"""
PROGRAM = f"""{KERNELS}
x = torch.arange(80.0)
for count, step in ((1, 1), (2, 2)):
    for _ in range(count):
        scaled[(1,)](x[: 40 * step : step], torch.empty(40), step, 40, 2.5, BLOCK=64)
"""
FUNCTION = """

def scale(PARAMETERS):
    out = torch.empty(x.shape, device=x.device)
    grid = (triton.cdiv(x.numel(), 64),)
    scaled[grid](x, out, x.stride(0), x.numel(), factor, BLOCK=64)
    return out
"""


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "program.py").write_text(PROGRAM)
    environment = {
        **os.environ, "KVTRACE": str(folder / "out"),
        "KVTRACE_TENSORS": "all",
    }  # fmt: skip
    done = warm_python().run("program.py", folder=folder, environment=environment)
    assert done.returncode == 0, done.stderr
    return folder / "out"


def cases_of(trace: Path, folder: Path, parameters: str):
    (folder / "scale.py").write_text(KERNELS + FUNCTION.replace("PARAMETERS", parameters))
    write_recorded_cases(trace, read_file(folder / "scale.py"), "scale", folder / "kept")
    return read_cases(folder / "kept")


@pytest.mark.parametrize("parameters", ["x, step, n, factor", "x", "given, factor=2.5"])
def test_arguments_match_by_name_or_as_the_tensors_that_a_kernel_reads(trace, tmp_path, parameters):
    often, once = cases_of(trace, tmp_path, parameters)
    tensor = often.inputs[0]
    assert (tensor.dtype, tensor.shape, tensor.strides) == ("float32", (40,), (2,))
    assert once.inputs[0].strides == (1,)
    values = np.frombuffer((tmp_path / "kept" / tensor.file).read_bytes(), np.float32)
    assert np.array_equal(values[::2], np.arange(0, 80, 2))
    if "step" in parameters:
        assert often.inputs[1:] == tuple(
            ScalarInput(name, value) for name, value in (("step", 2), ("n", 40), ("factor", 2.5))
        )


def test_function_that_fits_no_launch_is_an_error_that_lists_launches(trace, tmp_path, capsys):
    with pytest.raises(CannotJudge, match=r"fits scale\(x, y, z\); recorded are scaled\(x_ptr, "):
        cases_of(trace, tmp_path, "x, y, z")
    words = [str(tmp_path / "scale.py"), "--trace", str(trace), "--shapes", "x=f32[3]"]
    assert main(["judge", *words]) == 2
    assert "cannot be combined" in capsys.readouterr().err


def test_calls_without_recorded_arguments_fit_nothing(tmp_path):
    out = write_foreign(
        tmp_path / "out", stage="ttir_generic", text=COPY, has_arguments=False
    )  # fmt: skip
    with pytest.raises(CannotJudge, match="recorded are none that can be evaluated"):
        cases_of(out, tmp_path, "x, factor")


def test_a_candidate_is_judged_on_recorded_inputs(trace, tmp_path, capsys):
    (tmp_path / "scale.py").write_text(KERNELS + FUNCTION.replace("PARAMETERS", "x, factor=2.5"))
    reference = tmp_path / "reference.py"
    reference.write_text("def scale(x, factor=2.5):\n    return x * factor\n")
    words = ["--reference", f"{reference}:scale", "--trace", str(trace), "--json"]
    assert main(["judge", str(tmp_path / "scale.py"), *words]) == 0
    content = json.loads(capsys.readouterr().out)
    labels = [f"recorded {number}: x=f32[40], factor=2.5" for number in (1, 2)]
    assert [case["case"] for case in content["cases"][:2]] == labels
    assert len(content["cases"]) > 10
