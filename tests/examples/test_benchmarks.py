"""A benchmark refuses a recording that is not what its figure is called."""

import os
from pathlib import Path

import pytest

from tests.support.warm_python import warm_python

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys
sys.path[:0] = [sys.argv[1], sys.argv[2]]
import torch, kvtrace
from recorded import check
from tests.support.corpus import vector_add
x = torch.zeros(8)
with kvtrace.capture(sys.argv[3]):
    for _ in range(3):
        vector_add[(1,)](x, x, x, 8, BLOCK=8)
check(sys.argv[3], native=True, mode=sys.argv[4], launches=int(sys.argv[5]))
print("measured")
"""


@pytest.mark.process
@pytest.mark.parametrize(
    ("native", "mode", "launches", "told"),
    [
        ("1", "launch", 3, "measured"),
        ("0", "launch", 3, "not measured: native was claimed, but launches are recorded by the P"),
        ("1", "launch", 4, "not measured: 4 launches were made, 3 recorded"),
        ("1", "timeline", 3, "not measured: of 3 launches 0 are in the device timeline"),
    ],
)
def test_benchmark_check_refuses_another_hot_path_mode_or_launch_count(
    tmp_path, native, mode, launches, told
):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    arguments = (program, ROOT, ROOT / "benchmarks", tmp_path / "out", mode, str(launches))
    variables = os.environ | {"KVTRACE_NATIVE": native}
    done = warm_python().run(*arguments, folder=tmp_path, environment=variables)
    assert told in done.stdout + done.stderr
    assert done.returncode == (0 if told == "measured" else 1)
