"""A program that launches kernels, versions of the program, and repositories of projects."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

PYTHON = sys.executable
BENCH = """import sys
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

n = 1000
x, y, out = torch.ones(n), torch.ones(n), torch.empty(n)
for _ in range(3):
    add[(triton.cdiv(n, 128),)](x, y, out, n, BLOCK=128)
sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
"""
#: The store's mask is gone: it ends 24 elements past the tensor.
UNMASKED = BENCH.replace("x + y, mask=mask", "x + y")
#: The same work in larger blocks.
LARGER = BENCH.replace("128", "256")


def run(*arguments: str | Path, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder, without settings of kvtrace in the environment."""
    return subprocess.run(
        [PYTHON, *map(str, arguments)],
        cwd=folder,
        env=clean_environment() | variables,
        capture_output=True,
        text=True,
        timeout=200,
    )


def clean_environment() -> dict[str, str]:
    """Return the environment without settings of kvtrace, pytest and git."""
    left_out = ("KVTRACE", "PYTEST", "GIT_")
    return {k: v for k, v in os.environ.items() if not k.startswith(left_out)}


def commit_all(repository: Path, subject: str, files: Mapping[str, str | None]) -> str:
    """Write files (None: delete), commit the whole folder, and return the commit."""
    for name, text in files.items():
        if text is None:
            (repository / name).unlink()
        else:
            (repository / name).write_text(text)
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--allow-empty", "--message", subject)
    return git(repository, "rev-parse", "HEAD")


def new_repository(folder: Path) -> Path:
    """Make an empty repository with a configured author."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    git(folder, "config", "user.email", "nobody@example.invalid")
    git(folder, "config", "user.name", "Nobody")
    (folder / ".gitignore").write_text("__pycache__/\n")
    return folder


def git(folder: Path, *arguments: str) -> str:
    """Run git, which must succeed, and return its output."""
    result = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stdout.strip()
