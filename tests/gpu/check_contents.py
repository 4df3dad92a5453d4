"""To be run by hand on a machine with an NVIDIA GPU: contents of index tensors at launches.

    python tests/gpu/check_contents.py

Looks at what is recorded of tensors that are overwritten right after a launch, on other streams, of
views of large storages, by kernels that write integers themselves, under torch.compile, while a
graph is captured, and of a launch that ends in an illegal access; that results and the allocator's
figures are as without a recording; and that nothing waits for the device. Prints what a copy takes;
ends with 1 if anything is not as it should be.
"""

import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import torch
import triton
import triton.language as tl

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import kvtrace  # noqa: E402
from kvtrace.schema.contents import contents_of  # noqa: E402
from kvtrace.schema.trace import open_trace  # noqa: E402
from tests.gpu.check_checks import blocks  # noqa: E402
from tests.gpu.expectations import expect, problems  # noqa: E402
from tests.gpu.side_streams import launch_on_streams  # noqa: E402

COUNT = 10_000


@triton.jit
def gathered(x, index, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    chosen = tl.load(index + lanes, mask=lanes < n)
    tl.store(out + lanes, tl.load(x + chosen, mask=lanes < n), mask=lanes < n)


@triton.jit
def shifted(index, out, n, BLOCK: tl.constexpr):
    """Writes the integers that it reads, which torch does not notice."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    chosen = tl.load(index + lanes, mask=lanes < n)
    tl.store(out + chosen, chosen, mask=lanes < n)
    tl.store(index + lanes, (chosen + 1) % n, mask=lanes < n)


def held(folder: Path, kernel: str) -> list[list[bytes]]:
    """What each launch of a kernel had, in order; one list of bytes a launch."""
    trace = open_trace(folder)
    (run,) = trace.runs
    names = {r["kernel_id"]: r["name"] for r in trace.table("kernels", (run,)).select(
        ["kernel_id", "name"]).to_pylist()}  # fmt: skip
    calls = trace.table("calls", (run,), columns=["call_id", "kernel_id"]).to_pylist()
    wanted = {row["call_id"] for row in calls if kernel in names[row["kernel_id"]]}
    found: dict[int, list[bytes]] = {}
    for call_id, contents in contents_of(trace, run).items():
        for each in contents.sets if call_id in wanted else ():
            for seq in each.launches:
                found[seq] = [trace.artifact(part.artifact) or b"" for part in each.held]
    messages = trace.table("messages", (run,), columns=["code", "text"]).to_pylist()
    for row in messages:
        if row["code"] in ("capture-failure", "contents-failed", "derived-failed"):
            expect(False, f"{folder.name}: {row['text']}")
    return [found[seq] for seq in sorted(found)]


def overwritten(folder: Path) -> None:
    x, out = torch.randn(COUNT, device="cuda"), torch.empty(COUNT, device="cuda")
    index = torch.randperm(COUNT, device="cuda")
    wanted, results = [], []
    before = torch.cuda.memory_allocated()
    with kvtrace.capture(folder):
        for step in range(40):
            index.copy_((index * 7 + step) % COUNT)
            now = index.clone()
            torch.cuda._sleep(2_000_000)  # the copies have to wait
            begin = time.perf_counter()
            gathered[blocks(COUNT)](x, index, out, COUNT, BLOCK=1024)
            taken = time.perf_counter() - begin
            index.fill_(step)
            if step == 0:
                time.sleep(1.0)  # until the kernel's IR has been read: first before, then after
            elif taken > 0.02:
                expect(False, f"launch {step} took {taken * 1e3:.1f} ms: something waited")
            wanted.append(now)
            results.append(out.clone())
            index.copy_(now)
    expect(all(torch.equal(r, x[i]) for r, i in zip(results, wanted, strict=True)), "results")
    found = held(folder, "gathered")
    right = iter([[i.cpu().numpy().tobytes()] for i in wanted])
    # The first 8 launches, 4 of each second, 4 of each fourth, and the 40th (`IN_A_ROW`).
    in_order = len(found) == 17 and all(each in right for each in found)
    expect(in_order, f"tensors overwritten after the launch: {len(found)} of 40 launches")
    del wanted, results, now
    expect(torch.cuda.memory_allocated() == before, "memory of the allocator")


def streams(folder: Path) -> None:
    x = torch.randn(COUNT, device="cuda")
    indices = [torch.randperm(COUNT, device="cuda") for _ in range(9)]
    outs = [torch.empty(COUNT, device="cuda") for _ in range(9)]

    def launch(each: int) -> None:
        gathered[blocks(COUNT)](x, indices[each], outs[each], COUNT, BLOCK=1024)
        indices[each].mul_(0)

    wanted = [index.cpu() for index in indices]
    with kvtrace.capture(folder):
        launch_on_streams(launch)
    torch.cuda.synchronize()
    right = all(torch.equal(o.cpu(), x.cpu()[i]) for o, i in zip(outs, wanted, strict=True))
    expect(right, "results on streams of three threads")
    found = sorted(held(folder, "gathered"))
    expect(found == sorted([i.numpy().tobytes()] for i in wanted), "contents on other streams")


def views_and_writers(folder: Path) -> None:
    pool = torch.zeros(4 << 20, dtype=torch.int32, device="cuda")  # 16 MiB
    view = pool[5000:6000]
    x, out = torch.randn(COUNT, device="cuda"), torch.empty(COUNT, device="cuda")
    view.copy_(torch.randperm(COUNT, device="cuda")[:1000])
    index = torch.randperm(1000, device="cuda").to(torch.int32)
    target = torch.zeros(1000, dtype=torch.int32, device="cuda")
    wanted = []
    with kvtrace.capture(folder):
        gathered[blocks(1000)](x, view, out, 1000, BLOCK=1024)
        for _ in range(5):
            wanted.append(index.cpu().numpy().tobytes())
            version = index._version
            shifted[blocks(1000)](index, target, 1000, BLOCK=1024)
            assert index._version == version
            time.sleep(0.3)
        gathered[(2,)](x, view, out, 1000, BLOCK=1024)
    expect(held(folder, "gathered") == [[view.cpu().numpy().tobytes()]] * 2, "a view of a pool")
    found = [parts[0] for parts in held(folder, "shifted")]
    expect(found == wanted, f"integers that the kernel itself writes: {len(found)} of 5 launches")


def large(folder: Path) -> None:
    index = torch.randint(0, COUNT, (12 << 20,), device="cuda")  # 96 MiB, more than is pinned
    x, out = torch.randn(COUNT, device="cuda"), torch.empty(12 << 20, device="cuda")
    with kvtrace.capture(folder, tensors="int"):
        gathered[blocks(12 << 20)](x, index, out, 12 << 20, BLOCK=1024)
    expect(held(folder, "gathered") == [[index.cpu().numpy().tobytes()]], "96 MiB, asked for")


def captured(folder: Path) -> None:
    x, out = torch.randn(COUNT, device="cuda"), torch.zeros(COUNT, device="cuda")
    index, other = (torch.randperm(COUNT, device="cuda") for _ in range(2))
    done = threading.Event()

    with kvtrace.capture(folder):
        gathered[blocks(COUNT)](x, index, out, COUNT, BLOCK=1024)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):  # all threads are forbidden what is unsafe
            for _ in range(3):
                gathered[blocks(COUNT)](x, index, out, COUNT, BLOCK=1024)
                gathered[(5,)](x, index, out, COUNT // 2, BLOCK=1024)  # a new call
            done.wait(1.2)  # two rounds of the background thread
        index.copy_(other)
        graph.replay()
        torch.cuda.synchronize()
    expect(torch.equal(out, x[other]), "a graph with launches, replayed")
    expect(len(held(folder, "gathered")) == 1, "nothing is copied while a graph is captured")
    trace = open_trace(folder)
    phases = trace.table("launches", columns=["phase"])["phase"].to_pylist()
    expect(phases.count("graph_capture") == 6, "launches of the graph are recorded")


def compiled(folder: Path) -> None:
    table = torch.randn(5000, 64, device="cuda")
    function = torch.compile(lambda i: torch.nn.functional.embedding(i, table) * 2 + 1)
    indices = [torch.randint(0, 5000, (8, 128), device="cuda") for _ in range(6)]
    with kvtrace.capture(folder):
        results = []
        for index in indices:
            results.append(function(index))
            time.sleep(0.2)
    right = all(torch.equal(r, table[i] * 2 + 1) for r, i in zip(results, indices, strict=True))
    expect(right, "results of torch.compile")
    found = held(folder, "triton_")
    trace = open_trace(folder)
    launches = trace.table("launches", columns=["call_id", "phase"]).to_pylist()
    wanted = [i.cpu().numpy().tobytes() for i in indices]
    known = [parts[0] for parts in found]
    expect(
        list(dict.fromkeys(known)) == wanted,
        f"contents under torch.compile: {len(found)} of {len(launches)} launches",
    )


FAULT = """
import sys, torch, kvtrace
sys.path.insert(0, sys.argv[2])
from tests.gpu.check_contents import gathered, blocks
x, out = torch.randn(100, device="cuda"), torch.empty(1000, device="cuda")
index = torch.arange(1000, device="cuda")
index[3] = 1 << 50
kvtrace.start(sys.argv[1])
gathered[blocks(1000)](x, index, out, 1000, BLOCK=1024)
torch.cuda.synchronize()
"""


def fault(folder: Path) -> None:
    command = [sys.executable, "-c", FAULT, str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    expect("illegal memory access" in done.stderr, "a launch that ends in an illegal access")
    index = torch.arange(1000)
    index[3] = 1 << 50
    found = held(folder, "gathered")
    expect(found == [[index.numpy().tobytes()]], "what its tensors held")
    if not found:
        print(done.stderr[-2000:])


def what_it_takes() -> None:
    """Time of a copy on the host and on the device; whether taking pinned memory waits."""
    from kvtrace.capture.device_copies import DeviceCopies

    torch.cuda._sleep(2_000_000_000)  # about a second
    begin = time.perf_counter()
    copies = DeviceCopies()
    taken = time.perf_counter() - begin
    expect(taken < 0.3, f"16 MiB of pinned memory take {taken * 1e3:.1f} ms while the device works")
    torch.cuda.synchronize()
    x = torch.randn(1 << 20, device="cuda")
    stream = torch.cuda.current_stream().cuda_stream
    for size in (1 << 10, 1 << 16, 1 << 20):
        index = torch.zeros(size, dtype=torch.uint8, device="cuda")
        spans = [(index.data_ptr(), size)]
        times = {}
        host = []
        for copying in (False, True, False, True):
            torch.cuda.synchronize()
            torch.cuda._sleep(20_000_000)
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            made = []
            for _ in range(200):
                x.add_(1)
                if copying and len(made) < 8:
                    begin = time.perf_counter()
                    made.append(copies.copy(spans, stream))
                    host.append(time.perf_counter() - begin)
            end.record()
            torch.cuda.synchronize()
            for copy in made:
                copies.release(copy)
            times[copying] = start.elapsed_time(end)
        device = (times[True] - times[False]) * 1e3 / 8
        host.sort()
        print(
            f"      a copy of {size:>8,} bytes: {host[len(host) // 2] * 1e6:.1f} µs on the host, "
            f"{device:+.1f} µs on the device"
        )


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        for part in (
            overwritten, streams, views_and_writers, large, captured, compiled, fault,
        ):  # fmt: skip
            try:
                part(Path(folder) / part.__name__)
            except Exception as error:
                expect(False, f"{part.__name__}: {type(error).__name__}: {error}")
    what_it_takes()
    print("as it should be" if not problems else f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
