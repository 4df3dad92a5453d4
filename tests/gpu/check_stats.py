"""To be run by hand on a machine with an NVIDIA GPU: numbers of tensors (`KVTRACE_TENSORS=stats`).

    python tests/gpu/check_stats.py

Compares recorded numbers with torch's own, of tensors of all float types, of views and of large
tensors, that kernels change at once, on other streams, under torch.compile, with an autotuner, and
of launches in a graph; that results, random numbers and the allocator's figures are as without a
recording, and that nothing waits for the device. Then it launches a recorded call from its drawn
contents. Prints what a sampled launch takes; ends with 1 if anything is not as it should be.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import kvtrace  # noqa: E402
from kvtrace.cli import main as command  # noqa: E402
from kvtrace.schema.runs import plain_rows  # noqa: E402
from kvtrace.schema.trace import open_trace  # noqa: E402
from kvtrace.schema.validation import validate  # noqa: E402

COUNT = 10_000
FLOATS = (
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e5m2,
    torch.float8_e4m3fn,
)  # fmt: skip
problems: list[str] = []


@triton.jit
def overwritten(x, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + lanes, tl.full([BLOCK], 0, tl.float32).to(x.dtype.element_ty), mask=lanes < n)


@triton.jit
def scaled(x, out, n, factor, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n) * factor, mask=lanes < n)


tuned = triton.autotune([triton.Config({"BLOCK": size}) for size in (256, 512)], key=["n"])(scaled)


def check(right: bool, what: str) -> None:
    print(f"{'ok   ' if right else 'WRONG'} {what}", flush=True)
    if not right:
        problems.append(what)


def rows_of(out: Path) -> list[dict[str, Any]]:
    """Return the rows of numbers, in order of launches and arguments."""
    return plain_rows(open_trace(out).table("tensor_statistics"))


def blocks(count: int) -> tuple[int]:
    return (triton.cdiv(count, 1024),)


def matches(row: dict[str, Any], tensor: torch.Tensor) -> bool:
    """Return whether the numbers are those of a tensor: exactly, or about, for a sample."""
    values = tensor.double()
    finite = values[values.isfinite()]
    exact = row["sampled"] == row["elements"]
    # Of a sample, four times the deviation of its mean.
    close = 1e-6 if exact else 4 * float(finite.std()) / row["sampled"] ** 0.5
    share = row["sampled"] / row["elements"]
    slack = 0 if exact else 6 * row["sampled"] ** 0.5
    counts = {
        "nans": values.isnan(), "infinities": values.isinf(), "zeros": values == 0,
        "negative_infinities": values.isneginf(), "negatives": finite < 0,
    }  # fmt: skip
    wrong = [
        name for name, flags in counts.items() if abs(row[name] - int(flags.sum()) * share) > slack
    ]
    for name, expected in (
        ("mean", finite.mean()), ("deviation", finite.std(correction=0)),
        *([("minimum", finite.min()), ("maximum", finite.max())] if exact else []),
    ):  # fmt: skip
        if abs(row[name] - float(expected)) > close * max(1, abs(float(expected))):
            wrong.append(name)
    if wrong or row["elements"] != tensor.numel():
        print(f"      {wrong} of {tensor.dtype}{list(tensor.shape)}: {row}")
    return not wrong and row["elements"] == tensor.numel()


def eager(folder: Path) -> None:
    torch.manual_seed(0)
    whole = torch.randn(8192, 8192, device="cuda")
    tensors = [torch.randn(COUNT, device="cuda").to(dtype) for dtype in FLOATS]
    tensors[1][5], tensors[1][6], tensors[1][7:90] = float("nan"), float("-inf"), 0
    tensors += [whole, whole[:, :100], whole.t(), whole[::2, 5], whole[3]]
    expected = [tensor.double().clone() for tensor in tensors]
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with kvtrace.capture(folder, tensors="stats"):
        for number, tensor in enumerate(tensors[:6]):
            with torch.cuda.stream(side if number % 2 else torch.cuda.current_stream()):
                overwritten[blocks(COUNT)](tensor, COUNT, BLOCK=1024)
        for tensor in tensors[6:]:
            overwritten[(1,)](tensor, 1, BLOCK=1024)
    rows = rows_of(folder)
    check(len(rows) == len(tensors), f"numbers of {len(rows)} of {len(tensors)} eager launches")
    for row, tensor in zip(rows, expected, strict=False):
        check(matches(row, tensor), f"numbers of {list(tensor.shape)}, of {row['sampled']}")
    check(validate(folder) == [], "the trace is valid")


def harmless(folder: Path) -> None:
    x, out = torch.randn(COUNT, device="cuda"), torch.empty(COUNT, device="cuda")
    torch.cuda.synchronize()
    state, before = torch.cuda.get_rng_state(), torch.cuda.memory_stats()
    torch.cuda.reset_peak_memory_stats()
    peak = torch.cuda.max_memory_allocated()
    with kvtrace.capture(folder, tensors="stats"):
        scaled[blocks(COUNT)](x, out, COUNT, 2.0, BLOCK=1024)
        torch.cuda._sleep(2_000_000_000)  # about a second
        begin = time.perf_counter()
        for number in range(20):
            scaled[blocks(COUNT)](x, out, COUNT, 3.0 + number, BLOCK=1024)
        waited = time.perf_counter() - begin
        torch.cuda.synchronize()
    after = torch.cuda.memory_stats()
    names = ("allocation.all.allocated", "reserved_bytes.all.peak")
    check(waited < 0.5, f"20 sampled launches behind a busy stream return in {waited * 1e3:.1f} ms")
    check(torch.equal(state, torch.cuda.get_rng_state()), "random numbers are as they were")
    check(all(before[n] == after[n] for n in names), "torch's allocator saw nothing")
    check(torch.cuda.max_memory_allocated() == peak, "peak memory is as it was")
    check(torch.equal(out, x * 22.0), "results are right")
    check(len({row["seq"] for row in rows_of(folder)}) == 21, "all unique calls have numbers")


def graphs(folder: Path) -> None:
    x, out = torch.randn(COUNT, device="cuda"), torch.empty(COUNT, device="cuda")
    with kvtrace.capture(folder, tensors="stats"):
        scaled[blocks(COUNT)](x, out, COUNT, 2.0, BLOCK=1024)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            scaled[blocks(COUNT)](x, out, COUNT, 2.0, BLOCK=1024)
            scaled[blocks(COUNT)](x, out, COUNT, 7.0, BLOCK=1024)
        graph.replay()
        torch.cuda.synchronize()
        scaled[blocks(COUNT)](x, out, COUNT, 7.0, BLOCK=1024)
    check(torch.equal(out, x * 7), "a graph of launches with numbers, replayed")
    found = sorted({row["seq"] for row in rows_of(folder)})
    check(
        found == [0, 3], f"a call that a graph captures has numbers from its next launch: {found}"
    )


def compiled(folder: Path) -> None:
    x = torch.randn(300, 400, device="cuda")
    function = torch.compile(lambda x: torch.nn.functional.gelu(x) * 2 + 1)
    with kvtrace.capture(folder, tensors="stats"):
        results = [function(x) for _ in range(3)]
    check(torch.equal(results[0], results[2]), "results of torch.compile")
    rows = [row for row in rows_of(folder) if row["arg"] == 0]
    check(len(rows) == 1 and matches(rows[0], x), "numbers under torch.compile")


def autotuned(folder: Path) -> None:
    x, out = torch.randn(COUNT, device="cuda"), torch.empty(COUNT, device="cuda")
    with kvtrace.capture(folder, tensors="stats"):
        for _ in range(3):
            tuned[lambda meta: (triton.cdiv(COUNT, meta["BLOCK"]),)](x, out, COUNT, 2.0)
    phases = open_trace(folder).table("launches", columns=["seq", "phase"]).to_pylist()
    run = min(row["seq"] for row in phases if row["phase"] == "run")
    rows = rows_of(folder)
    check({row["seq"] for row in rows} == {run}, "an autotuned kernel has numbers, no trial has")
    check(bool(rows) and matches(rows[0], x), "numbers of an autotuned kernel")


def drawn(folder: Path, trace: Path) -> None:
    script = folder / "repro.py"
    check(command(["repro", str(trace), "--launch", "0", "-o", str(script)]) == 0, "kvtrace repro")
    check("Drawn(" in script.read_text(), "the script draws contents")
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True)
    print(done.stdout + done.stderr)
    check(done.returncode == 0, "the script launches the call from drawn contents")


def costs(folder: Path) -> None:
    x, out = torch.randn(1 << 24, device="cuda"), torch.empty(1 << 24, device="cuda")
    figures = {}
    for setting in ("index", "stats"):
        with kvtrace.capture(folder / setting, tensors=setting):
            scaled[(1,)](x, out, 1, 0.5, BLOCK=1024)
            for phase, factors in (("first", range(1, 301)), ("again", [1] * 3000)):
                torch.cuda.synchronize()
                begin = time.perf_counter()
                for factor in factors:
                    scaled[(1,)](x, out, 1, float(factor), BLOCK=1024)
                torch.cuda.synchronize()
                figures[setting, phase] = (time.perf_counter() - begin) / len(factors) * 1e6
    for phase, what in (("first", "first launches of calls"), ("again", "launches again")):
        index, stats = figures["index", phase], figures["stats", phase]
        print(f"{what}, 2 tensors of 64 MiB: index {index:.1f} us, stats {stats:.1f} us a launch")


def main() -> int:
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, Triton {triton.__version__}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in (eager, harmless, graphs, compiled, autotuned, costs):
            print(f"-- {part.__name__}")
            part(folder / part.__name__)
        print("-- drawn")
        drawn(folder, folder / "harmless")
    print("\n".join(["problems:", *problems]) if problems else "all is as it should be")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
