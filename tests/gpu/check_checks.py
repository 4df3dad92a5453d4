"""To be run by hand on a machine with an NVIDIA GPU: memory of launches that are to be checked.

    python tests/gpu/check_checks.py

Looks at what is kept before and after launches: of tensors that the kernel and the program write
over, on other streams, of bfloat16 and of views, of programs of a large launch, of more launches
than pinned memory holds, under torch.compile and in graphs; that results and the
allocator's figures are as without a recording; and that a launch that is kept waits for nothing as
long as there is room. Ends with 1 if anything is not as it should be.
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
from kvtrace.addons.check.recording import memory_needed  # noqa: E402
from kvtrace.schema.runs import plain_rows  # noqa: E402
from kvtrace.schema.trace import open_trace  # noqa: E402
from kvtrace.schema.validation import validate  # noqa: E402
from tests.gpu.expectations import expect, problems  # noqa: E402
from tests.gpu.side_streams import launch_on_streams  # noqa: E402

COUNT = 10_000


@triton.jit
def doubled(x, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + lanes, tl.load(x + lanes, mask=lanes < n) * 2, mask=lanes < n)


@triton.jit
def added(x, y, out, n, BLOCK: tl.constexpr):
    lanes = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)).to(tl.int64)
    total = tl.load(x + lanes, mask=lanes < n) + tl.load(y + lanes, mask=lanes < n)
    tl.store(out + lanes, total, mask=lanes < n)


@triton.jit
def column_sums(x, out, rows, width, BLOCK: tl.constexpr):
    """Sum columns, 64 floats at a time of rows that lie far apart."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for row in range(rows):
        total += tl.load(x + row * width + lanes)
    tl.store(out + lanes, total)


def blocks(n: int) -> tuple[int, ...]:
    return (triton.cdiv(n, 1024),)


def content(tensor: torch.Tensor) -> bytes:
    return tensor.cpu().contiguous().view(torch.uint8).numpy().tobytes()


def kept(folder: Path) -> tuple[list[dict[str, Any]], dict[tuple[int, int, str], Any], set[str]]:
    """Launches that were kept, their memory (spans and bytes) by launch, argument and time."""
    trace = open_trace(folder)
    for problem in validate(folder):
        expect(False, f"{folder.name}: {problem.where}: {problem.text}")
    memory = {
        (row["seq"], row["arg"], row["when"]): (row["spans"], trace.artifact(row["artifact"]))
        for row in plain_rows(trace.table("checked_memory"))
    }
    messages = plain_rows(trace.table("messages"))
    for row in messages:
        if row["code"] in ("capture-failure", "check-failed", "check-left-out"):
            expect(False, f"{folder.name}: {row['text']}")
    codes = {row["code"] for row in messages}
    return plain_rows(trace.table("checked_launches")), memory, codes


def in_place(folder: Path) -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        x = torch.randn(COUNT, device="cuda").to(dtype)
        y = x.clone()
        wanted, slow = [], 0.0
        with kvtrace.capture(folder / str(dtype), check="kernel:doubled"):
            for step in range(20):
                y.copy_(x)
                torch.cuda._sleep(2_000_000)  # the copies have to wait
                begin = time.perf_counter()
                doubled[blocks(COUNT)](x, COUNT, BLOCK=1024)
                slow = max(slow, time.perf_counter() - begin) if step > 1 else 0.0
                z = x.clone()
                x.fill_(step + 1)
                wanted.append((y.clone(), z))
        _, memory, _ = kept(folder / str(dtype))
        found = [(memory[s, 0, "before"][1], memory[s, 0, "after"][1]) for s in range(20)]
        right = [(content(a), content(b)) for a, b in wanted]
        expect(found == right, f"{dtype} written over by the kernel and after it")
        expect(slow < 0.02, f"the slowest launch took {slow * 1e3:.2f} ms")


def streams(folder: Path) -> None:
    tensors = [torch.randn(COUNT, device="cuda") for _ in range(9)]
    wanted = sorted((content(t), content(t * 2)) for t in tensors)

    def launch(each: int) -> None:
        doubled[blocks(COUNT)](tensors[each], COUNT, BLOCK=1024)
        tensors[each].zero_()

    with kvtrace.capture(folder, check="kernel:doubled"):
        launch_on_streams(launch)
    launches, memory, _ = kept(folder)
    seqs = [row["seq"] for row in launches]
    found = sorted((memory[s, 0, "before"][1], memory[s, 0, "after"][1]) for s in seqs)
    expect(found == wanted, "three threads on streams of their own")


def programs(folder: Path) -> None:
    n = 64 << 20  # 256 MiB each
    x, y = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
    out = torch.zeros(n, device="cuda")
    before = torch.cuda.memory_allocated()
    with kvtrace.capture(folder, check="first"):
        added[blocks(n)](x, y, out, n, BLOCK=1024)
    torch.cuda.synchronize()
    expect(torch.cuda.memory_allocated() == before, "memory of the allocator")
    ((launch,), memory, _) = kept(folder)
    expect(len(launch["programs"] or ()) == memory_needed.PROGRAMS, "programs of a large launch")
    for arg, when, tensor in ((0, "before", x), (1, "before", y), (2, "after", out)):
        spans, held = memory[0, arg, when]
        parts = [tensor[s["offset_bytes"] // 4 :][: s["size_bytes"] // 4] for s in spans]
        expect(held == b"".join(map(content, parts)), f"argument {arg} {when}: {len(spans)} spans")


def pieces(folder: Path) -> None:
    """Thousands of equal pieces, which are copied by few calls."""
    rows, width = 5000, 8192  # 156 MiB
    x, out = torch.randn(rows, width, device="cuda"), torch.zeros(width, device="cuda")
    with kvtrace.capture(folder, check="kernel:column_sums"):
        begin = time.perf_counter()
        column_sums[(width // 64,)](x, out, rows, width, BLOCK=64)
        first = time.perf_counter() - begin
        begin = time.perf_counter()
        column_sums[(width // 64,)](x, out, rows, width, BLOCK=64)
        second = time.perf_counter() - begin
    launches, memory, _ = kept(folder)
    programs = launches[0]["programs"] or []
    spans, held = memory[0, 0, "before"]
    tiles = x.view(rows, width // 64, 64)[:, programs]
    right = held == content(tiles)
    expect(right and len(programs) > 1, f"{len(spans)} pieces of {len(programs)} programs")
    expect(True, f"the launches took {first * 1e3:.0f} and {second * 1e3:.0f} ms")


def crowded(folder: Path) -> None:
    """More at once than memory holds: some launches wait for the stream, some are not kept."""
    n = 7 << 20  # 28 MiB, twice a launch
    tensors = [torch.full((n,), float(k), device="cuda") for k in range(15)]
    with kvtrace.capture(folder, check="kernel:doubled"):
        torch.cuda._sleep(50_000_000)
        for tensor in tensors:
            doubled[blocks(n)](tensor, n, BLOCK=1024)
    launches, memory, codes = kept(folder)
    right = all(
        memory[s, 0, "before"][1] == content(torch.full((n,), float(s)))
        and memory[s, 0, "after"][1] == content(torch.full((n,), 2.0 * s))
        for s in (row["seq"] for row in launches)
    )
    told = len(launches) == 15 or "check-busy" in codes
    expect(right and told and len(launches) > 8, f"{len(launches)} launches of 56 MiB each")


def compiled(folder: Path) -> None:
    def fused(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(x * 2 + y).softmax(-1).sum(-1)

    x, y = torch.randn(256, 512, device="cuda"), torch.randn(256, 512, device="cuda")
    made = torch.compile(fused)
    with kvtrace.capture(folder, check="sample:4"):
        for _ in range(10):
            result = made(x, y)
    expect(torch.allclose(result, fused(x, y), atol=1e-5), "results of torch.compile")
    launches, memory, _ = kept(folder)
    kernels = len({row["call_id"] for row in launches})
    expect(len(launches) == 3 * kernels > 0, f"{len(launches)} launches of {kernels} kernels")
    last = max(row["seq"] for row in launches)
    outputs = [held for (s, _, when), (_, held) in memory.items() if s == last and when == "after"]
    expect(content(result) in outputs, "the last output is what the program got")


def graphs(folder: Path) -> None:
    """A launch in a graph, kept as it is at the first of many replays that nothing waits for."""
    x = torch.ones(COUNT, device="cuda")
    doubled[blocks(COUNT)](x, COUNT, BLOCK=1024)
    graph = torch.cuda.CUDAGraph()
    with kvtrace.capture(folder, check="kernel:doubled"):
        with torch.cuda.graph(graph):
            for _ in range(3):
                doubled[blocks(COUNT)](x, COUNT, BLOCK=1024)
        for _ in range(20):
            graph.replay()
            x.fill_(3.0)
        torch.cuda.synchronize()
        doubled[blocks(COUNT)](x, COUNT, BLOCK=1024)
    _, memory, codes = kept(folder)
    expect(torch.equal(x, torch.full_like(x, 6.0)), "results with a graph")
    starts = {0: 2.0, 1: 4.0, 2: 8.0, 3: 3.0}
    right = all(
        memory[seq, 0, "before"][1] == content(torch.full((COUNT,), start))
        and memory[seq, 0, "after"][1] == content(torch.full((COUNT,), 2 * start))
        for seq, start in starts.items()
    )
    expect(right and len(memory) == 8, "of launches in a graph, the first replay's memory is kept")
    expect("check-in-graph" not in codes, "nothing is said to be missing")


def graph_of_large_launches(folder: Path) -> None:
    """Programs of a large launch in a graph, in thousands of pieces; what a replay costs after."""
    rows, width = 5000, 8192  # 156 MiB
    x, out = torch.randn(rows, width, device="cuda"), torch.zeros(width, device="cuda")
    column_sums[(width // 64,)](x, out, rows, width, BLOCK=64)
    graph, times = torch.cuda.CUDAGraph(), {}
    with kvtrace.capture(folder, check="kernel:column_sums"):
        with torch.cuda.graph(graph):
            column_sums[(width // 64,)](x, out, rows, width, BLOCK=64)
        for turn in range(3):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            graph.replay()
            torch.cuda.synchronize()
            times[turn] = time.perf_counter() - begin
    launches, memory, _ = kept(folder)
    programs = launches[0]["programs"] or []
    _, held = memory[0, 0, "before"]
    right = held == content(x.view(rows, width // 64, 64)[:, programs])
    expect(right and len(programs) > 1, f"pieces of {len(programs)} programs in a graph")
    expect(True, ", ".join(f"replay {n}: {t * 1e3:.2f} ms" for n, t in times.items()))


def compiled_with_graphs(folder: Path) -> None:
    """torch.compile with CUDA graphs: what was kept agrees with the IR."""
    model = torch.nn.Sequential(
        torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.LayerNorm(512), torch.nn.Linear(512, 8)
    ).cuda()
    made = torch.compile(model, mode="reduce-overhead")
    x = torch.randn(64, 256, device="cuda")
    with torch.no_grad():
        made(x)
    with kvtrace.capture(folder, check="kernel:triton*"), torch.no_grad():
        for _ in range(6):
            result = made(x).clone()
    expect(torch.allclose(result, model(x), atol=1e-4), "results of torch.compile with graphs")
    launches, _, codes = kept(folder)
    trace = open_trace(folder)
    phases = {row["seq"]: row["phase"] for row in plain_rows(trace.table("launches"))}
    captured = [row["seq"] for row in launches if phases[row["seq"]] == "graph_capture"]
    expect(len(captured) > 0, f"{len(captured)} of {len(launches)} kept launches are in graphs")
    command = [sys.executable, "-m", "kvtrace", "check", str(folder)]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    print(said.stdout[-600:], said.stderr[-600:], codes)
    expect(said.returncode == 0, "they agree with their IR")


PARTS = (
    in_place, streams, programs, pieces, crowded, compiled, graphs, graph_of_large_launches,
    compiled_with_graphs,
)  # fmt: skip


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        for part in PARTS:
            part(Path(folder) / part.__name__)
    print(f"{torch.cuda.get_device_name()}: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
