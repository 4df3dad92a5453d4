"""Recording leaves pandas alone, which pyarrow would import into the program."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kvtrace.schema.trace import open_trace
from tests.capture.killed_program import RECORDED_PROGRAM

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
PANDAS = 'raise RuntimeError("somebody imports pandas")\n'
OPS = """
import torch, triton
import triton.language as tl

@triton.jit
def doubled(x, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + lanes, tl.load(x + lanes, mask=lanes < n) * 2, mask=lanes < n)

doubled[(2,)](torch.ones(100, device="cuda"), 100, BLOCK=64)
"""


#: Ends with the modules that the recording's threads have imported, in `imported`.
NOTED = """
import sys, threading
from kvtrace.capture.threads import running
imported = []

class Noted:
    def find_spec(self, name, path=None, target=None):
        if threading.get_ident() in running:
            imported.append(name)

sys.meta_path.insert(0, Noted())
"""
LIGHT = """
import time
import kvtrace
from kvtrace.capture.records import KernelRecord

session = kvtrace.start(sys.argv[1])
session.add_kernel(KernelRecord(name="k", origin="jit"))
end = time.monotonic() + 60
while session._journal._writer is None and time.monotonic() < end:
    time.sleep(0.01)  # this thread imports nothing meanwhile
kvtrace.stop()
light = {"kvtrace", *sys.stdlib_module_names}
assert "kvtrace.schema.writer" in sys.modules
assert not [name for name in imported if name.partition(".")[0] not in light], imported
"""
ARRAYS = """
import sys
import numpy as np, pyarrow as pa
import kvtrace.backends.cupti.timeline
from kvtrace.schema.arrays import array_of
from kvtrace.schema.numpy_arrays import array_of_numpy, numpy_of
for name in ("int8", "int32", "int64", "uint8", "uint64", "float16", "float32", "float64", "bool"):
    numbers = np.array([1, 0, 1], name)
    values = array_of_numpy(numbers, np.array([False, True, False]))
    assert numpy_of(array_of_numpy(numbers)).dtype == numbers.dtype
    assert numpy_of(values).tolist() == numpy_of(array_of_numpy(numbers)).tolist() == [1, 0, 1]
assert numpy_of(array_of([1, 2], pa.timestamp("ns"))).tolist() == [1, 2]
assert not {"pandas", "pyarrow.compute"} & set(sys.modules)
"""


@pytest.fixture
def recorded(tmp_path):
    """Run a program where somebody's pandas fails, and return what it recorded."""

    def run(*command, **settings):
        (tmp_path / "pandas").mkdir()
        (tmp_path / "pandas" / "__init__.py").write_text(PANDAS)
        path = os.pathsep.join([str(tmp_path), str(ROOT)])
        environment = os.environ | {"PYTHONPATH": path} | settings
        done = subprocess.run(
            [sys.executable, *command], env=environment, cwd=tmp_path, capture_output=True,
            text=True, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "pandas" not in done.stderr
        return open_trace(tmp_path / "out")

    return run


@pytest.mark.parametrize(
    ("limits", "launches"),
    [
        ({}, 300),
        ({"KVTRACE_SAMPLE": "1/10"}, 44),
        ({"KVTRACE_LIMIT": "100 launches"}, 100),
        ({"KVTRACE_LIMIT": "ring:1MB"}, 300),
    ],
)
def test_no_recording_imports_pandas(limits, launches, recorded):
    assert recorded("-c", RECORDED_PROGRAM, "out", **limits).table("launches").num_rows == launches


def test_a_plain_recording_does_without_the_functions_of_arrow(recorded):
    assert recorded(
        "-c", f"{RECORDED_PROGRAM}assert 'pyarrow.compute' not in sys.modules\n", "out"
    ).runs


def test_threads_of_a_recording_import_nothing_heavy(recorded):
    assert recorded("-c", f"{NOTED}{LIGHT}", "out").runs


def test_arrays_of_the_timeline_do_not_import_pandas(tmp_path):
    (tmp_path / "pandas.py").write_text(PANDAS)
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    subprocess.run(
        [sys.executable, "-c", ARRAYS], env=os.environ | {"PYTHONPATH": path}, check=True,
        timeout=300,
    )  # fmt: skip


def test_verdicts_and_evaluation_at_exit_do_not_import_pandas(recorded, tmp_path):
    (tmp_path / "program.py").write_text(OPS)
    modes = ("--mode", "ops", "--sanitize", "warn", "--device", "cpu")

    trace = recorded("-m", "kvtrace", "run", *modes, "-o", "out", "program.py")

    assert trace.table("ops").num_rows > 0
    assert set(trace.table("findings")["verdict"].to_pylist()) == {"proven"}
