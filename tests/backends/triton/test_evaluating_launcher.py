"""Kernels whose TTIR is not where Triton's cache is by the time they are executed."""

from pathlib import Path

import pytest

from tests.backends.triton.absent_gpu.programs import KERNEL, run

pytestmark = pytest.mark.process

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
if torch.cuda.is_available():
    pytest.skip("this machine has a GPU", allow_module_level=True)

PROGRAM = f"""
import os
import torch
{KERNEL}
x = torch.zeros(4)
compiled = add_one.warmup(x, 4, BLOCK=4, grid=(1,))
os.environ["TRITON_CACHE_DIR"] = "elsewhere"
add_one[(1,)](x, 4, BLOCK=4)
seen["x"] = x.tolist()
"""
BINARY_ONLY = f"""
import torch
{KERNEL}
try:
    add_one[(1,)](torch.zeros(4), 4, BLOCK=4)
except Exception as error:
    seen["error"] = str(error)
"""


def test_a_kernel_that_another_cache_has_is_executed(tmp_path: Path) -> None:
    ended = run(tmp_path, PROGRAM, KVTRACE_COMPILE="full")
    assert ended.seen == {"x": [1.0] * 4}, ended.errors


def test_a_cache_without_ttir_is_refused_with_the_cause(tmp_path: Path) -> None:
    ended = run(tmp_path, BINARY_ONLY, KVTRACE_COMPILE="full", TRITON_STORE_BINARY_ONLY="1")
    assert "TRITON_STORE_BINARY_ONLY keeps machine code alone" in ended.seen["error"]
