"""To be run by hand on a machine with a GPU: changes of time that `kvtrace diff` claims.

    python tests/gpu/check_diff.py [--pairs 10]

Records one program twice for each pair, in processes of their own, with times on the device: no
pair may claim that a time changed. Then one with a kernel whose loop runs a tenth longer on
purpose: its time on the device must be claimed to be worse, and that of the other kernel must not.

Ends with 1 if anything is not as it should be.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)]

from kvtrace.converters.diff import Difference, compare, headline_text  # noqa: E402
from kvtrace.schema.trace import resolve  # noqa: E402
from tests.gpu.check_ranks import environment  # noqa: E402

PROGRAM = """
import torch
import triton
import triton.language as tl

@triton.jit
def iterated(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + lanes, mask=lanes < n)
    for _ in range(ROUNDS):
        value = tl.sin(value) + 1
    tl.store(out + lanes, value, mask=lanes < n)

@triton.jit
def added(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n) + 1, mask=lanes < n)

n = 1 << 22
x, out = torch.rand(n, device="cuda"), torch.empty(n, device="cuda")
for _ in range(200):
    iterated[(n // 1024,)](x, out, n, BLOCK=1024)
    added[(n // 1024,)](x, out, n, BLOCK=1024)
torch.cuda.synchronize()
"""


def main() -> int:
    """Record, compare, print a line for each pair, and say whether all is as it should be."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--pairs", type=int, default=10)
    pairs = options.parse_args().pairs
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="kvtrace-check-") as folder:
        base = Path(folder)
        for number in range(pairs):
            sides = [record(base, f"{number}-{name}", 1000) for name in "ab"]
            wrong += told(f"pair {number}", compare(*map(resolve, sides)), set())
        sides = [record(base, "plain", 1000), record(base, "slowed", 1100)]
        wrong += told("slowed", compare(*map(resolve, sides)), {"iterated"})
    print("as it should be" if not wrong else f"{wrong} comparisons are not as they should be")
    return int(bool(wrong))


def record(base: Path, name: str, rounds: int) -> Path:
    """Record the program with so many rounds of its loop, always from a file of the same name."""
    folder = base / name
    folder.mkdir()
    program = folder / "program.py"
    program.write_text(PROGRAM.replace("ROUNDS", str(rounds)))
    variables = environment(folder / "out", "cuda")
    subprocess.run([sys.executable, str(program)], cwd=folder, env=variables, check=True)
    return folder / "out"


def told(name: str, found: Difference, expected: set[str]) -> bool:
    """Print which kernels are claimed to be slower; tell whether it is not the expected ones."""
    claimed = {
        time.name: one
        for time in found.times
        for one in time.compared
        if one.claimed and one.kind == "device"
    }
    host = {time.name for time in found.times for one in time.compared if one.claimed} - set(
        claimed
    )
    worse = {kernel for kernel, one in claimed.items() if (one.ratio or 0) > 1}
    wrong = worse != expected or set(claimed) != expected or bool(host)
    ratios = ", ".join(
        f"{time.name} {one.kind} ×{one.ratio:.3f}"
        for time in found.times
        for one in time.compared
        if one.ratio is not None
    )
    print(f"{name}: {'WRONG' if wrong else 'fine'}: {ratios}")
    if wrong:
        print("\n".join(headline_text(found, width=120)))
    return wrong


if __name__ == "__main__":
    sys.exit(main())
