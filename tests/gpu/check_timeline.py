"""To be run by hand on a machine with an NVIDIA GPU: kernels on the device, joined to launches.

    python tests/gpu/check_timeline.py [OUT]

Streams, CUDA graphs, torch.compile with graphs, kernels of other libraries, torch.profiler in the
middle, and the same work under torch.profiler alone, whose counts and times are compared. Ends with
0 and lines of figures, or with an AssertionError.
"""

import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from capture_profiled import added, doubled
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

import kvtrace
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace

N = 1 << 22


def eager(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor, rounds: int) -> None:
    """Launch on three streams, with kernels of torch's in between."""
    main = torch.cuda.current_stream()
    side = [torch.cuda.Stream() for _ in range(2)]
    for step in range(rounds):
        added[(N // 1024,)](x, y, out, N, BLOCK=1024)
        for stream in side:
            stream.wait_stream(main)
            with torch.cuda.stream(stream):
                doubled[(N // 2048,)](x, y, N, BLOCK=2048)
        for stream in side:
            main.wait_stream(stream)
        out.sin_()
        doubled[(N // 1024,)](out, out, N, BLOCK=1024)
        if step % 10 == 0:
            torch.cuda.synchronize()


def graphs(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor, replays: int) -> None:
    """Capture two graphs and replay them."""
    captured = []
    for repeat in (1, 3):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(repeat):
                added[(64,)](x, y, out, 65536, BLOCK=1024)
                out.cos_()
                doubled[(64,)](out, out, 65536, BLOCK=1024)
        captured.append(graph)
    for _ in range(replays):
        for graph in captured:
            graph.replay()
    torch.cuda.synchronize()


def main() -> None:
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()) / "out"
    x, y = (torch.rand(N, device="cuda") for _ in range(2))
    z = torch.empty_like(x)
    eager(x, y, z, 2)
    graphs(x, y, z, 1)
    torch.cuda.synchronize()
    with kvtrace.capture(out, mode="timeline"):
        eager(x, y, z, 200)
        torch.cuda.synchronize()
    check_eager(out)
    with kvtrace.capture(out, mode="timeline"):
        graphs(x, y, z, 50)
    check_graphs(out)
    with kvtrace.capture(out, mode="timeline"):
        compiled(x[: 1 << 16])
    check_compiled(out)
    with kvtrace.capture(out, mode="timeline"):
        eager(x, y, z, 20)
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
            eager(x, y, z, 20)
            torch.cuda.synchronize()
        time.sleep(3)
        eager(x, y, z, 20)
    check_profiler(out, seen)
    compare(x, y, z, out)
    print("timeline: all as expected")


def newest(out: Path) -> dict[str, Any]:
    trace = open_trace(out)
    run = trace.runs[-1]
    assert run.mode == "timeline", run.mode
    tables = {
        name: plain_rows(trace.table(name, (run,)))
        for name in ("launches", "gpu_kernels", "messages", "kernels", "calls")
    }
    for message in tables["messages"]:
        print("   ", message["level"], message["code"], message["text"])
    return tables


def check_eager(out: Path) -> None:
    tables = newest(out)
    calls = {row["call_id"]: row for row in tables["calls"]}
    kernels = {row["kernel_id"]: row for row in tables["kernels"]}
    launches = {row["seq"]: row for row in tables["launches"]}
    ran = tables["gpu_kernels"]
    ours = [row for row in ran if row["name"] in ("added", "doubled")]
    joined = [row for row in ours if row["launch_seq"] is not None]
    print(f"eager: {len(launches)} launches, {len(ours)} kernels, {len(joined)} joined")
    assert len(ours) == len(launches) == 800
    assert len(joined) >= 0.99 * len(ours)
    assert len({row["launch_seq"] for row in joined}) == len(joined)
    for row in joined:
        launch = launches[row["launch_seq"]]
        call = calls[row["call_id"]]
        assert launch["call_id"] == row["call_id"]
        assert kernels[call["kernel_id"]]["function"] == row["name"]
        assert call["grid_x"] == row["grid_x"]
        assert row["start"] < row["end"]
        assert row["start"] - launch["enter"] > -5_000
    assert sum("sin" in row["name"] for row in ran) == 200


def check_graphs(out: Path) -> None:
    tables = newest(out)
    captured = [row for row in tables["launches"] if row["phase"] == "graph_capture"]
    assert len(captured) == 8
    assert len({row["graph_id"] for row in captured}) == 2
    ran = [row for row in tables["gpu_kernels"] if row["graph_id"] is not None]
    ours = [row for row in ran if row["name"] in ("added", "doubled")]
    joined = [row for row in ours if row["launch_seq"] is not None]
    print(f"graphs: {len(captured)} captured, {len(ours)} replayed kernels, {len(joined)} joined")
    assert len(ours) == len(joined) == 50 * 8
    per_launch = Counter(row["launch_seq"] for row in joined)
    assert set(per_launch.values()) == {50}
    assert set(per_launch) == {row["seq"] for row in captured}
    check_requests(ran)


def check_requests(ran: list[dict[str, Any]]) -> None:
    """A graph is asked for when it is replayed, from that line, and all its kernels at once."""
    assert all(row["requested"] is not None for row in ran)
    assert all(row["start"] - row["requested"] > -5_000 for row in ran)
    assert all(row["stack_id"] is not None for row in ran)
    replays = {(row["graph_id"], row["correlation_id"]) for row in ran}
    assert len({row["requested"] for row in ran}) == len(replays) == 2 * 50


def compiled(x: torch.Tensor) -> None:
    function = torch.compile(lambda a: (a.sin() * 3 + 1).relu().sum(), mode="reduce-overhead")
    for _ in range(20):
        torch.compiler.cudagraph_mark_step_begin()
        function(x)
    torch.cuda.synchronize()


def check_compiled(out: Path) -> None:
    tables = newest(out)
    functions = {row["function"] for row in tables["kernels"]}
    ran = [row for row in tables["gpu_kernels"] if row["name"] in functions]
    replayed = [row for row in ran if row["graph_id"] is not None]
    joined = [row for row in ran if row["call_id"] is not None]
    print(f"compiled: {sorted(functions)}, {len(ran)} ran, {len(replayed)} replayed")
    print(f"compiled: {len(joined)} joined")
    assert replayed
    assert len(joined) >= 0.95 * len(ran)


def check_profiler(out: Path, seen: Any) -> None:
    tables = newest(out)
    ours = [row for row in tables["gpu_kernels"] if row["name"] in ("added", "doubled")]
    theirs = [
        e
        for e in seen.events()
        if e.name in ("added", "doubled") and e.device_type == DeviceType.CUDA
    ]
    print(f"profiler in the middle: it saw {len(theirs)} kernels, we {len(ours)} of 240")
    assert len(theirs) == 80
    assert len(ours) == 160


def compare(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor, out: Path) -> None:
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        eager(x, y, z, 200)
        torch.cuda.synchronize()
    theirs: dict[str, list[float]] = {}
    for event in seen.events():
        if event.device_type == DeviceType.CUDA and event.name in ("added", "doubled"):
            theirs.setdefault(event.name, []).append(event.device_time)
    with kvtrace.capture(out, mode="timeline"):
        eager(x, y, z, 200)
    ours: dict[str, list[float]] = {}
    for row in newest(out)["gpu_kernels"]:
        if row["name"] in theirs:
            length = (row["end"] - row["start"]) / 1e3
            ours.setdefault(row["name"], []).append(length)
    for name, times in theirs.items():
        a, b = statistics.median(times), statistics.median(ours[name])
        print(
            f"{name}: torch.profiler {len(times)} kernels, median {a:.2f} µs; ours "
            f"{len(ours[name])}, {b:.2f} µs"
        )
        assert len(times) == len(ours[name])
        assert abs(a - b) <= 0.02 * a + 0.1


if __name__ == "__main__":
    main()
