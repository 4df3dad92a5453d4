"""A repository with a commit for each kind of change, and a trace of each, without a GPU."""

import os
import subprocess
from pathlib import Path

from kvtrace.cli import main
from tests.support.warm_python import warm_python

PROGRAM = """
import torch
import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


@triton.jit
def rows(x_ptr, out_ptr, count, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    for start in range(0, columns, BLOCK):
        at = row * columns + start + lanes
        mask = (start + lanes < columns) & (row < count)
        tl.store(out_ptr + at, tl.load(x_ptr + at, mask=mask) * 2, mask=mask)


@triton.jit
def outer(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, n):
        left = tl.load(x_ptr + lanes[:, None] * n + k)
        right = tl.load(x_ptr + lanes[None, :] * n + k)
        total += left * right
    tl.store(out_ptr + lanes[:, None] * BLOCK + lanes[None, :], total)


def added(x, y, block):
    n = x.shape[0]
    out = torch.empty_like(x)
    add[(triton.cdiv(n, block),)](x, y, out, n, BLOCK=block)


def doubled(table):
    count, columns = table.shape
    rows[(count,)](table, torch.empty_like(table), count, columns, BLOCK=64)


def main():
    n, block, dtype, warps = 1000, 128, torch.float16, 4
    x, y = (torch.ones(n, dtype=dtype) for _ in range(2))
    for _ in range(6):
        added(x, y, block)
    doubled(torch.ones(30, 70))
    square = torch.empty(128, 128)
    outer[(1,)](torch.ones(128 * 16), square, 16, BLOCK=128, num_warps=warps)


main()
"""
NARROW = PROGRAM.replace(".to(tl.int64)", "")
#: The program of each commit. All are compared with "first", but for "narrower" with "narrow".
COMMITS = {
    "first": PROGRAM,
    "again": PROGRAM,
    "moved": PROGRAM.replace("import torch", '"""Adds."""\n\nimport torch', 1),
    "mask": PROGRAM.replace("mask = offsets < n", "mask = offsets <= n"),
    "block": PROGRAM.replace("= 1000, 128,", "= 1000, 256,"),
    "dtype": PROGRAM.replace("torch.float16", "torch.float32"),
    "renamed": PROGRAM.replace("def add(", "def plus(").replace("add[", "plus["),
    "removed": PROGRAM.replace("    doubled(torch", "    0 and doubled(torch"),
    "spill": PROGRAM.replace("torch.float16, 4", "torch.float16, 1"),
    "narrow": NARROW,
    "narrower": NARROW.replace("at = row * columns + start", "at = row * 4 * columns // 4 + start"),
}  # fmt: skip


def record_commits(folder: Path) -> Path:
    """Commit and record each program, judge and replay it; return the directory of the traces.

    "again" is the first commit, recorded from another checkout. Tags have the names of COMMITS.
    """
    checkout, other, out = folder / "checkout", folder / "elsewhere" / "copy", folder / "out"
    checkout.mkdir()
    _git(checkout, "init", "-q", "-b", "main")
    for name, text in COMMITS.items():
        if name == "again":
            other.parent.mkdir()
            _git(folder, "clone", "-q", str(checkout), str(other))
            _record(other, folder, out / name)
            continue
        (checkout / "program.py").write_text(text)
        _git(checkout, "add", "program.py")
        _git(checkout, "commit", "-q", "-m", name)
        _git(checkout, "tag", f"v-{name}")
        _record(checkout, folder, out / name)
    return out


def _record(checkout: Path, folder: Path, out: Path) -> None:
    cache = folder / f"cache-{checkout.name}"
    environment = os.environ | {"TRITON_CACHE_DIR": str(cache), "KVTRACE": str(out)}
    program = checkout / "program.py"
    done = warm_python().run(program, folder=checkout, environment=environment)
    assert done.returncode == 0, done.stderr
    assert main(["replay", str(out)]) == 0
    assert main(["sanitize", str(out)]) in (0, 1)


def _git(folder: Path, *arguments: str) -> None:
    names = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *names, *arguments], cwd=folder, check=True, capture_output=True)
