"""To be run by hand on a machine with an NVIDIA GPU: Triton kernels that no Python launches.

    python tests/gpu/check_blind_spots.py

A model is compiled by AOTInductor to a package (in a process of its own, so that nothing of it is
launched here), loaded, and run in mode timeline, with launches of a kernel of ours in between; then
another one under torch.compile with Inductor's C++ wrapper, which launches its kernels from C++.
Where torch cannot load its own package (seen: torch 2.11 crashes in it, with no kvtrace in the
process), that is said, and the C++ wrapper alone is looked at.
Their kernels must be in `gpu_kernels` without a launch, as many as ran, and counted in `messages`
by name; ours must be joined as ever. Prints what it saw; ends with 1 if anything is not so.
"""

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl
from torch import nn

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import kvtrace  # noqa: E402
from kvtrace.schema.runs import plain_rows  # noqa: E402
from kvtrace.schema.trace import open_trace  # noqa: E402
from tests.gpu.expectations import expect, problems  # noqa: E402

ROUNDS = 50


@triton.jit
def doubled(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n) * 2, mask=lanes < n)


class Model(nn.Module):
    """A product of cuBLAS's, and element by element what Inductor makes kernels of."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(256, 512)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.gelu(self.up(x) * 2 + 1).softmax(-1)


def compile_package(package: str) -> None:
    """What a child process does, where nothing records: compile the model, write and try it."""
    torch.manual_seed(0)
    x = torch.randn(128, 256, device="cuda")
    exported = torch.export.export(Model().cuda(), (x,))
    print(torch._inductor.aoti_compile_and_package(exported, package_path=package), flush=True)
    torch._inductor.aoti_load_package(package)(x)
    print("loaded and run", flush=True)


def record(run: Callable[[torch.Tensor], Any], out: Path) -> None:
    """Run the model and our kernel in turn, in mode timeline."""
    x = torch.randn(128, 256, device="cuda")
    y = torch.empty_like(x)
    run(x)
    doubled[(32,)](x, y, x.numel(), BLOCK=1024)
    torch.cuda.synchronize()
    with kvtrace.capture(out, mode="timeline"):
        for _ in range(ROUNDS):
            run(x)
            doubled[(32,)](x, y, x.numel(), BLOCK=1024)
        torch.cuda.synchronize()


def look_at(out: Path) -> None:
    trace = open_trace(out)
    (run,) = trace.runs
    expect(run.mode == "timeline", f"mode {run.mode}")
    messages = plain_rows(trace.table("messages", (run,)))
    for message in messages:
        print(f"      {message['code']} ×{message['count']}: {message['text']}")
    ran = plain_rows(trace.table("gpu_kernels", (run,)))
    launches = trace.table("launches", (run,)).num_rows
    counts = Counter(row["name"] for row in ran if row["launch_seq"] is None)
    ours = [row for row in ran if row["name"] == "doubled" and row["launch_seq"] is not None]
    print(f"    {launches} launches by Python; without one ran: {dict(counts)}")
    expect(launches == len(ours) == ROUNDS, f"{len(ours)} of our {ROUNDS} launches joined")
    generated = {name: count for name, count in counts.items() if name.startswith("triton_")}
    expect(bool(generated), f"generated kernels without a launch: {generated}")
    expect(all(count % ROUNDS == 0 for count in generated.values()), "each round ran all of them")
    library = {name: count for name, count in counts.items() if not name.startswith("triton_")}
    expect(bool(library), f"{len(library)} kernels of libraries")
    told = [message for message in messages if message["code"] == "kernels-without-launch"]
    expect(len(told) == 1, "one sentence says so")
    if told:
        expect(told[0]["count"] == sum(counts.values()), f"and counts {told[0]['count']}")
        expect(all(name in told[0]["text"] for name in generated), "by name")


def main() -> int:
    if len(sys.argv) > 1:
        compile_package(sys.argv[1])
        return 0
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "model.pt2"
        print("AOTInductor's package")
        made = subprocess.run(
            [sys.executable, __file__, str(package)], capture_output=True, text=True, check=False
        )
        if not package.exists():
            expect(False, f"the package is not made: {made.stderr[-3000:]}")
        elif made.returncode:
            print(f"    torch cannot run its own package here: exit {made.returncode}, left out")
        else:
            record(torch._inductor.aoti_load_package(str(package)), Path(folder) / "package")
            look_at(Path(folder) / "package")
        print("torch.compile with the C++ wrapper")
        wrapped = torch.compile(Model().cuda(), options={"cpp_wrapper": True})
        with torch.no_grad():
            wrapped(torch.randn(128, 256, device="cuda"))
            record(wrapped, Path(folder) / "wrapped")
        look_at(Path(folder) / "wrapped")
    for problem in problems:
        print(f"WRONG: {problem}")
    print("blind spots: all as expected" if not problems else f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
