"""To be run by hand on a machine with an NVIDIA GPU: miscompilations that are planted, and found.

    python tests/gpu/check_planted.py

Kernels are compiled, their PTX is edited (a barrier dropped, operands swapped, a predicate, an
offset, a rounding changed …) and put into Triton's override directory; the program runs again under
KVTRACE_CHECK=first. Each edit has to be found, in the kernel that it is in, and no launch of the
program without edits may differ. Prints what was found of each, and the share.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
import triton
import triton.language as tl

import kvtrace

#: Edits of PTX: a kernel, what is done to it, a pattern, and what takes its first match's place.
EDITS: tuple[tuple[str, str, str, str], ...] = (
    ("largest", "the maximum is a minimum", r"max\.f32", "min.f32"),
    ("softmax", "operands of a subtraction swapped",
     r"sub\.f32(\s+)(%\w+), (%\w+), (%\w+);", r"sub.f32\1\2, \4, \3;"),
    ("softmax", "another constant of the exponential", r"0f3FB8AA3B", "0f3FB8A03B"),
    ("rows", "a shuffle over another distance",
     r"(shfl\.sync\.bfly\.b32.*?), 16, 31, -1;", r"\1, 8, 31, -1;"),
    ("product", "the last factor of a multiplication and addition swapped with the sum",
     r"(fma\.rn\.f32\s+%\w+), (%\w+), (%\w+), (%\w+);", r"\1, \2, \4, \3;"),
    ("product", "rounded toward zero", r"cvt\.rn\.(bf16\w*)\.f32", r"cvt.rz.\1.f32"),
    ("added", "a store dropped", r"@?\S*\s*st\.global[^;]*;", ""),
    ("added", "an address one element on",
     r"(ld\.global\S* \{[^}]*\}, \[ %\w+ \+) 0 \]", r"\1 16 ]"),
    ("added", "predicates with one lane more", r"setp\.lt\.s32", "setp.le.s32"),
    ("added", "an addition is a subtraction", r"add\.(rn\.)?f32", r"sub.\1f32"),
    ("rows", "all barriers dropped", r"bar\.sync\s+0;", ""),
    ("rows", "a division is a multiplication", r"div\.full\.f32", "mul.f32"),
    ("many", "the step of a loop", r"add\.s32(\s+%\w+, %\w+), 32;", r"add.s32\1, 64;"),
)  # fmt: skip

#: Edits of every place: of a vectorized access not each predicate is that of the last lane.
ALL = frozenset({"all barriers dropped", "predicates with one lane more"})


@triton.jit
def softmax(x, out, n, BLOCK: tl.constexpr):
    row, lanes = tl.program_id(0), tl.arange(0, BLOCK)
    given = tl.load(x + row * n + lanes, mask=lanes < n, other=-float("inf"))
    grown = tl.exp(given - tl.max(given, 0))
    tl.store(out + row * n + lanes, grown / tl.sum(grown, 0), mask=lanes < n)


@triton.jit
def largest(x, out, n, BLOCK: tl.constexpr):
    row, lanes = tl.program_id(0), tl.arange(0, BLOCK)
    given = tl.load(x + row * n + lanes, mask=lanes < n, other=-float("inf"))
    tl.store(out + row, tl.max(given, 0))


@triton.jit
def product(x, y, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + lanes, mask=lanes < n), tl.load(y + lanes, mask=lanes < n)
    tl.store(out + lanes, (a * b + a).to(tl.bfloat16), mask=lanes < n)


@triton.jit
def added(x, y, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + lanes, mask=lanes < n), tl.load(y + lanes, mask=lanes < n)
    tl.store(out + lanes, a + b, mask=lanes < n)


@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    row, lanes = tl.program_id(0), tl.arange(0, BLOCK)
    given = tl.load(x + row * n + lanes, mask=lanes < n, other=0.0)
    mean = tl.sum(given, 0) / n
    away = tl.where(lanes < n, given - mean, 0.0)
    spread = tl.sqrt(tl.sum(away * away, 0) / n + 1e-5)
    tl.store(out + row * n + lanes, away / spread, mask=lanes < n)


@triton.jit
def many(a, b, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        along = k + tl.arange(0, BK)
        left = tl.load(a + i[:, None] * K + along[None, :], mask=along[None, :] < K, other=0.0)
        right = tl.load(b + along[:, None] * N + j[None, :], mask=along[:, None] < K, other=0.0)
        total += tl.dot(left, right)
    tl.store(out + i[:, None] * N + j[None, :], total)


def launch_all() -> None:
    torch.manual_seed(3)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(shape, device=device)

    x = random(512, 1000)
    softmax[(512,)](x, torch.zeros_like(x), 1000, BLOCK=1024)
    rows[(512,)](x, torch.zeros_like(x), 1000, BLOCK=1024, num_warps=8)
    largest[(512,)](x, torch.zeros(512, device=device), 1000, BLOCK=1024)
    flat = random(70_001 + 1024)  # longer than what the kernels are told
    other = random(70_001 + 1024)
    room = torch.zeros(70_001 + 1024, device=device)
    added[(69,)](flat, other, room, 70_001, BLOCK=1024)
    narrow = torch.zeros(70_001, device=device, dtype=torch.bfloat16)
    product[(69,)](flat, other, narrow, 70_001, BLOCK=1024)
    a, b = random(128, 96 + 32).bfloat16(), random(96 + 32, 128).bfloat16()
    many[(4, 4)](a, b, random(128, 128), 128, 128, 128, BM=32, BN=32, BK=32)
    if device == "cuda":
        torch.cuda.synchronize()


def recorded(folder: Path, override: Path | None) -> list[dict[str, object]]:
    """Run the program in a process of its own, and check its launches."""
    from tests.gpu.check_libraries import checked_rows

    out = folder / "out"
    environment = os.environ | {
        "TRITON_ALWAYS_COMPILE": "1",
        "TRITON_CACHE_DIR": str(folder / "cache"),
        "TRITON_KERNEL_DUMP": str(int(override is None)), "TRITON_DUMP_DIR": str(folder / "dump"),
        "TRITON_KERNEL_OVERRIDE": str(int(override is not None)),
        "TRITON_OVERRIDE_DIR": str(override or folder / "none"),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, __file__, "--run", str(out)], env=environment, capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip
    if done.returncode:
        print("  the program ended with", done.returncode, done.stderr.strip()[-200:])
    return list(checked_rows(out))


def edited(text: str, name: str, pattern: str, replacement: str) -> str:
    count = 0 if name in ALL else 1
    return re.sub(pattern, replacement, text, count=count)


def main(keep: Callable[[object], None] = print) -> int:
    with tempfile.TemporaryDirectory() as first:
        plain = recorded(Path(first), None)
        dumped = {file.stem: file for file in Path(first, "dump").rglob("*.ptx")}
        texts = {kernel: (file.parent.name, file.read_text()) for kernel, file in dumped.items()}
    wrong = [row for row in plain if row["answer"] != "agrees"]
    print("without edits:", len(plain), "launches,", len(wrong), "of them do not agree", wrong)
    found = 0
    for kernel, name, pattern, replacement in EDITS:
        folder, text = texts[kernel]
        changed = edited(text, name, pattern, replacement)
        if changed == text:
            print(f"{kernel}: {name}: there is no such place in its PTX")
            continue
        with tempfile.TemporaryDirectory() as place:
            override = Path(place, "override", folder)
            override.mkdir(parents=True)
            (override / f"{kernel}.ptx").write_text(changed)
            rows_ = recorded(Path(place), override.parent)
        named = {str(row["kernel"]) for row in rows_ if row["answer"] == "differs"}
        found += named == {kernel}
        said = [row["wrong"] for row in rows_ if row["answer"] == "differs"]
        keep(f"{kernel}: {name}: differs: {sorted(named)} {json.dumps(said)[:400]}")
    print(f"found {found} of {len(EDITS)}")
    return int(bool(wrong) or found < len(EDITS))


if __name__ == "__main__":
    if "--run" in sys.argv:
        with kvtrace.capture(sys.argv[2], check="first", tensors="none"):
            launch_all()
    else:
        sys.exit(main())
