"""To be run by hand on a machine with an NVIDIA GPU: our own kernels, and what they look at.

    python tests/gpu/check_outputs.py

Looks at what the kernels `finite` and `digest` answer for all types, sizes and alignments, against
NumPy; at launches on several streams, under torch.compile, and in a graph that is replayed; at what
is kept of the launch that makes the first NaN, and where it is said to be born; that nothing waits
for the device, and that results and the allocator's figures are as without a recording. Prints how
fast both kernels are; ends with 1 if anything is not as it should be.
"""

import statistics
import sys
import tempfile
import time
import traceback
from pathlib import Path

import numpy as np
import torch
import triton
import triton.language as tl

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import kvtrace  # noqa: E402
from kvtrace.addons.check.first_bad import first_bad  # noqa: E402
from kvtrace.addons.check.kept import checked_launches  # noqa: E402
from kvtrace.addons.check.recording.device_code import FORMATS  # noqa: E402
from kvtrace.addons.check.recording.device_kernels import (  # noqa: E402
    DeviceKernels,
    Piece,
    device_kernels,
    digest_table,
    finite_table,
)
from kvtrace.addons.check.recording.host_kernels import digest, flags  # noqa: E402
from kvtrace.converters.diff import compare  # noqa: E402
from kvtrace.schema.runs import plain_rows  # noqa: E402
from kvtrace.schema.trace import open_trace, resolve  # noqa: E402
from tests.gpu.expectations import expect, problems  # noqa: E402
from tests.gpu.side_streams import launch_on_streams  # noqa: E402

TYPES = {
    "fp64": torch.float64, "fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16,
    "fp8e5": torch.float8_e5m2, "fp8e4nv": torch.float8_e4m3fn,
}  # fmt: skip
COUNT = 10_000


@triton.jit
def logarithms(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.log(tl.load(x + lanes, mask=lanes < n, other=1.0)), mask=lanes < n)


@triton.jit
def halved(x, n, BLOCK: tl.constexpr):
    """In place; 0 / 0 where it is 0."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes, mask=lanes < n, other=1.0)
    tl.store(x + lanes, values * values / values / 2, mask=lanes < n)


@triton.jit
def summed(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + lanes, mask=lanes < n, other=0.0), axis=0))


def launched(kernel, *tensors: torch.Tensor) -> None:
    n = tensors[0].numel()
    kernel[(triton.cdiv(n, 1024),)](*tensors, n, BLOCK=1024)


def content(tensor: torch.Tensor) -> np.ndarray:
    return tensor.contiguous().view(torch.uint8).cpu().numpy()


def answers(folder: Path) -> None:
    """Both kernels against NumPy: each type, sizes around vectors and blocks, any alignment."""
    del folder
    torch.zeros(1, device="cuda")
    kernels, wrong, tried = device_kernels(), [], 0
    assert kernels is not None
    stream = torch.cuda.current_stream().cuda_stream
    generator = np.random.default_rng(0)
    for name, dtype in TYPES.items():
        size = FORMATS[name].bytes
        for count in (1, 2, 15, 16, 17, 1023, 4096, 100_003, 3_000_001):
            pieces, views = [], []
            for each in range(8):
                x = torch.randn(count + 16, device="cuda").to(dtype)
                view = x[each : each + count]
                bits = view.view(torch.uint8)
                if each % 4:
                    at = int(generator.integers(count)) * size
                    special = torch.tensor(
                        [float("nan") if each % 2 else float("inf")], device="cuda"
                    ).to(dtype)
                    bits[at : at + size] = special.view(torch.uint8)
                views.append(view)
                pieces.append(Piece(view.data_ptr(), count * size, name, 1 + 3 * (each % 2)))
            # Nothing is kept: nobody would read it, and give the reserve back.
            finite = kernels.finite(finite_table(pieces, []), stream, keep=(False, False))
            sums = kernels.digest(digest_table(pieces), stream)
            torch.cuda.synchronize()
            for place, (piece, view) in enumerate(zip(pieces, views, strict=True)):
                held, tried = content(view), tried + 1
                bits_found = finite.flags >> 2 * place & 3
                if bits_found != flags(held, name) or not finite.done:
                    wrong.append((name, count, place, "flags", bits_found))
                if sums.sums[place] != digest(held, piece.lines, piece.address):
                    wrong.append((name, count, place, "digest", sums.sums[place]))
            kernels.release(finite)
            kernels.release(sums)
    expect(not wrong, f"answers for {tried} tensors; wrong: {wrong[:5]}")


def rows(folder: Path, table: str) -> list[dict]:
    trace = open_trace(folder)
    for row in plain_rows(trace.table("messages")):
        if row["code"] in ("capture-failure", "check-failed", "derived-failed"):
            expect(False, f"{folder.name}: {row['text']}")
    return plain_rows(trace.table(table))


def born(folder: Path) -> None:
    x, out = torch.ones(COUNT, device="cuda"), torch.empty(COUNT, device="cuda")
    y = torch.ones(COUNT, device="cuda")
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    longest = 0.0
    with kvtrace.capture(folder, check="finite,digest"):
        launched(logarithms, x, out)
        launched(halved, y)
        for step in range(60):
            torch.cuda._sleep(2_000_000)
            if step == 45:
                torch.cuda.synchronize()
                time.sleep(1.2)  # until what was kept has been read
            begin = time.perf_counter()
            x[777] = 30.0 - step
            launched(logarithms, x, out)
            if step == 45:
                y[5] = 0.0
            launched(halved, y)
            longest = max(longest, time.perf_counter() - begin)
        torch.cuda.synchronize()
        time.sleep(1.2)
    expect(torch.cuda.memory_allocated() == before, "memory of the allocator")
    expect(longest < 0.02, f"the longest step took {longest * 1e3:.2f} ms on the host")
    found = {(row["seq"], row["nan"], row["infinity"]) for row in rows(folder, "non_finite")
             if row["when"] == "after"}  # fmt: skip
    wanted = {(62, False, True)} | {(2 + 2 * step, True, False) for step in range(31, 60)}
    wanted |= {(3 + 2 * step, True, False) for step in range(45, 60)}
    expect(found == wanted, f"which launches have some: {len(found)} of {len(wanted)}")
    expect(len(rows(folder, "digests")) == 4 * 61, "digests of all launches")
    trace = open_trace(folder)
    bad = [(each.seq, first_bad(each)) for each in checked_launches(trace, trace.runs[0])]
    told = [
        (seq, None if isinstance(each, str) else (each.program, each.lane)) for seq, each in bad
    ]
    expect(told == [(62, (0, (777,))), (64, (0, (777,))), (93, (0, (5,)))], f"births: {told}")
    for seq, each in bad:
        print("     ", seq, each)


def streams(folder: Path) -> None:
    xs = [torch.rand(COUNT, device="cuda") + 0.5 for _ in range(9)]
    outs = [torch.empty(COUNT, device="cuda") for _ in range(9)]

    def launch(each: int) -> None:
        launched(logarithms, xs[each], outs[each])

    with kvtrace.capture(folder, check="finite,digest"):
        launch_on_streams(launch)
        torch.cuda.synchronize()
    wanted = {digest(content(each)) for each in (*xs, *outs)}
    found = {row["digest"] % (1 << 64) for row in rows(folder, "digests")}
    expect(found == wanted, "digests on streams of three threads")
    expect(not rows(folder, "non_finite"), "nothing that is not finite is found")


def late(folder: Path) -> None:
    """Launches that their stream reaches when the journal has had some rounds: none is lost."""
    x, out = torch.ones(COUNT, device="cuda"), torch.empty(COUNT, device="cuda")
    launched(logarithms, x, out)
    torch.cuda.synchronize()
    with kvtrace.capture(folder, check="finite,digest,kernel:logarithms"):
        for _ in range(5):
            torch.cuda._sleep(500_000_000)
            launched(logarithms, x, out)
        torch.cuda.synchronize()
    expect(len(rows(folder, "digests")) == 10, "digests that come late")
    expect(len(rows(folder, "checked_launches")) == 5, "copies that come late")


def sampled(folder: Path) -> None:
    x, out = torch.full((COUNT,), -1.0, device="cuda"), torch.empty(COUNT, device="cuda")
    with kvtrace.capture(folder, check="finite:4,digest:3"):
        for _ in range(9):
            launched(logarithms, x, out)
        torch.cuda.synchronize()
    found = [sorted({r["seq"] for r in rows(folder, t)}) for t in ("non_finite", "digests")]
    expect(found == [[0, 4, 8], [0, 3, 6]], f"one launch in so many: {found}")


def captured(folder: Path) -> None:
    x, out = torch.ones(COUNT, device="cuda"), torch.zeros(COUNT, device="cuda")
    launched(logarithms, x, out)
    with kvtrace.capture(folder, check="finite,digest"):
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):  # the first launch of all: kernels are loaded meanwhile
            for _ in range(3):
                launched(logarithms, x, out)
                launched(halved, x)
        graph.replay()
        torch.cuda.synchronize()
        time.sleep(0.7)
        early = x.clone()
        x[9] = -1.0
        graph.replay()
        torch.cuda.synchronize()
        time.sleep(0.7)
    expect(bool((early == 0.125).all()), "results of a graph with launches, replayed")
    found = {(row["seq"], row["arg"]) for row in rows(folder, "non_finite")}
    expect(found >= {(0, 1), (2, 1), (4, 1)}, f"NaNs of a replay: {sorted(found)}")
    trace = open_trace(folder)
    bad = [first_bad(each) for each in checked_launches(trace, trace.runs[0]) if each.seq == 0]
    expect(bool(bad) and not isinstance(bad[0], str) and bad[0].lane == (9,), "and its birth")


def compiled(folder: Path) -> None:
    function = torch.compile(lambda x: torch.log(x * 2 + 1) / 3)
    x = torch.rand(64, 1000, device="cuda")
    function(x)
    torch.cuda.synchronize()
    with kvtrace.capture(folder, check="finite,digest"):
        result = function(x)
        x[3, 4] = -7.0
        function(x)
        torch.cuda.synchronize()
    found = {row["digest"] % (1 << 64) for row in rows(folder, "digests")}
    expect(digest(content(result)) in found, "digests of what torch.compile made")
    expect(len(rows(folder, "non_finite")) >= 1, "a NaN of what it made")
    trace = open_trace(folder)
    bad = list(map(first_bad, checked_launches(trace, trace.runs[0])))
    expect(len(bad) == 1 and not isinstance(bad[0], str), f"and its birth: {bad[:1]}")


def repeated(folder: Path) -> None:
    """Ten runs of a deterministic step, and of one with float atomics."""
    found = {}
    x = torch.randn(1 << 22, device="cuda").abs() + 0.5
    for kernel in (logarithms, summed):
        seen = set()
        for number in range(10):
            out = torch.zeros(x.numel() if kernel is logarithms else 1, device="cuda")
            place = folder / kernel.fn.__name__ / str(number)
            with kvtrace.capture(place, check="digest"):
                launched(kernel, x, out)
                torch.cuda.synchronize()
            seen.add(tuple(
                row["digest"] for row in rows(place, "digests") if row["when"] == "after"
            ))  # fmt: skip
        found[kernel.fn.__name__] = len(seen)
    expect(found["logarithms"] == 1, "ten runs of a deterministic kernel are equal")
    expect(found["summed"] > 1, f"float atomics: {found['summed']} results in ten runs")
    sides = [resolve(folder / "summed" / str(number)) for number in range(10)]
    told = [compare(sides[0], side).results.first for side in sides[1:]]
    causes = {cause for each in told if each is not None for cause in each.causes}
    expect(any("adds floats" in cause for cause in causes), f"diff says why: {causes}")


def speed() -> None:
    """Bytes a second of both kernels, and what a launch of them costs the host and the device."""
    kernels = device_kernels()
    assert kernels is not None
    stream = torch.cuda.current_stream().cuda_stream
    print(f"      {torch.cuda.get_device_name()}")
    for size in (1 << 12, 1 << 20, 1 << 24, 1 << 28, 1 << 31):
        x = torch.zeros(size, dtype=torch.uint8, device="cuda")
        line = f"      {size:>13,} bytes:"
        for name in ("finite", "digest", "digest of 1 in 16"):
            piece = Piece(x.data_ptr(), size, "bf16", 16 if "of" in name else 1)
            times, host = [], []
            for _ in range(30):
                start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                torch.cuda._sleep(200_000)
                start.record()
                begin = time.perf_counter()
                if name == "finite":
                    answer = kernels.finite(finite_table([piece], []), stream, keep=(False, False))
                else:
                    answer = kernels.digest(digest_table([piece]), stream)
                host.append(time.perf_counter() - begin)
                end.record()
                torch.cuda.synchronize()
                assert answer is not None
                assert answer.done
                kernels.release(answer)
                times.append(start.elapsed_time(end) / 1e3)
            taken = statistics.median(times)
            line += (
                f"  {name} {taken * 1e6:.1f} µs ({size / taken / 1e9:,.0f} GB/s; host "
                f"{statistics.median(host) * 1e6:.1f} µs)"
            )
        print(line, flush=True)
    begin = time.perf_counter()
    again = DeviceKernels(kernels._driver)
    again.reserve()
    print(f"      loading, and taking memory: {(time.perf_counter() - begin) * 1e3:.1f} ms")


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        for part in (captured, answers, born, streams, late, sampled, compiled, repeated):
            try:
                part(Path(folder) / part.__name__)
            except Exception as error:
                traceback.print_exc()
                expect(False, f"{part.__name__}: {type(error).__name__}: {error}")
    speed()
    print("as it should be" if not problems else f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
