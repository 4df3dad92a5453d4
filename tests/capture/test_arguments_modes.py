"""Modes and subclasses of the program's, which see no question of the recorder's to a tensor."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kvtrace.schema.trace import open_trace

PROGRAM = """
import collections, json, torch
from torch.overrides import TorchFunctionMode
from torch.utils._debug_mode import DebugMode
from torch.utils._python_dispatch import TorchDispatchMode
from corpus.kernels.index_kernels import add

counts = collections.Counter()
class Functions(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        counts["mode:" + getattr(func, "__name__", "")] += 1
        return func(*args, **(kwargs or {}))
class Operators(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise AssertionError(func)
class Own(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        counts["own:" + getattr(func, "__name__", "")] += 1
        return super().__torch_function__(func, types, args, kwargs or {})

x, y = (torch.arange(64, device="cuda", dtype=torch.int32) for _ in range(2))
for tensor in (x, x.as_subclass(Own)):
    with Functions(), Operators():
        for _ in range(3):
            add[(1,)](tensor, x, y, 64, BLOCK=64)
with DebugMode(record_torchfunction=True):
    add[(1,)](x, x, y, 64, BLOCK=64)
print(json.dumps(counts))
"""
SETTINGS = ("CHECK=digest", "CHECK=first", "TENSORS=all", "SANITIZE=raise", "NATIVE=0", "MEMORY=on")


@pytest.mark.process
@pytest.mark.parametrize("setting", SETTINGS)
def test_modes_see_what_triton_asks_and_no_more(tmp_path: Path, setting: str) -> None:
    name, value = setting.split("=")
    variables = {"KVTRACE": "out", "KVTRACE_DEVICE": "cpu", f"KVTRACE_{name}": value}
    (tmp_path / "program.py").write_text(PROGRAM)
    path = {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, env=os.environ | path | variables,
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    # of 6 launches with 3 tensors: Triton's specialization asks for both, its launcher for pointers
    assert seen == {"mode:__get__": 18, "mode:data_ptr": 36, "own:__get__": 3, "own:data_ptr": 6}
    assert open_trace(tmp_path / "out").table("launches").num_rows == 7
