"""Kernels whose TTIR is not where Triton's cache is by the time they are executed."""

from pathlib import Path

import pytest

from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from tests.backends.triton.absent_gpu.programs import KERNEL, run
from tests.support.without_gpu import torch_without_gpu

pytestmark = pytest.mark.process

torch = torch_without_gpu()

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
    assert "TRITON_STORE_BINARY_ONLY caches machine code alone" in ended.seen["error"]


REFUSED = """
import torch
import triton
import triton.language as tl
SHUFFLE = tl.constexpr("shfl.sync.bfly.b32 $0, $1, 1, 31, -1;")

@triton.jit
def shuffled(x, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    other = tl.inline_asm_elementwise(
        SHUFFLE, "=f,f", [tl.load(x + lanes)], dtype=tl.float32, is_pure=True, pack=1
    )
    tl.store(x + lanes, other)

for _ in range(2):
    try:
        shuffled[(1,)](torch.zeros(64), BLOCK=64)
    except Exception as error:
        seen["error"] = str(error)
"""


def test_a_failed_launch_is_recorded_with_the_reason(tmp_path: Path) -> None:
    ended = run(tmp_path, REFUSED)
    assert (
        "kvtrace does not implement the instruction 'shfl.sync.bfly.b32'" in ended.seen["error"]
    ), ended.errors
    trace = open_trace(tmp_path / "out")
    (kernel,) = plain_rows(trace.table("kernels"))
    (call,) = plain_rows(trace.table("calls"))
    launches = plain_rows(trace.table("launches"))
    assert (kernel["name"], call["args"][0]["name"]) == ("shuffled", "x")
    assert [launch["call_id"] for launch in launches] == [call["call_id"]] * 2
    assert all(launch["exit"] >= launch["enter"] for launch in launches)
    messages = [
        row for row in plain_rows(trace.table("messages")) if row["code"] == "failed-launch"
    ]
    assert {(row["level"], row["text"]) for row in messages} == {
        ("error", f"kernel shuffled: {ended.seen['error']}")
    }
    assert sum(row["count"] for row in messages) == 2


GRIDS = f"""
import torch
{KERNEL}
x = torch.zeros(4)
for grid in ((4 / 2,), ("2",), (2**31,), (1, 65_536), (65_536, 32_768)):
    try:
        add_one[grid](x, 4, BLOCK=4)
        seen[str(grid)] = x.tolist()
    except Exception as error:
        seen[str(grid)] = type(error).__name__
"""


def test_grids_that_a_device_refuses_are_refused_with_its_errors(tmp_path: Path) -> None:
    ended = run(tmp_path, GRIDS, KVTRACE_TARGET="cuda:90")
    assert ended.seen == {
        "(2.0,)": "TypeError",
        "('2',)": "TypeError",
        "(2147483648,)": "OverflowError",
        "(1, 65536)": "RuntimeError",
        "(65536, 32768)": [0.0] * 4,
    }
    assert "(65536, 32768, 1) was not launched" in ended.errors
    calls = plain_rows(open_trace(tmp_path / "out").table("calls"))
    assert [row["grid_y"] for row in calls] == [65_536, 32_768]
