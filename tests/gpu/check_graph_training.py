"""To be run by hand on a machine with an NVIDIA GPU: a training step that is a CUDA graph.

    python tests/gpu/check_graph_training.py [OUT]

A small network with Triton kernels of ours and, where its package is there, Liger's RMSNorm, is
trained by AdamW. Forward, backward and optimizer are captured into one graph, which is replayed on
batches in turn, in mode timeline. Each launch that was captured must have run as often as the graph
was replayed, joined to its call, and `kvtrace profile` must count these runs. Ends with 0 and a
line of figures, or with an AssertionError.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "gpu")]

from rank_training import Net  # noqa: E402

import kvtrace  # noqa: E402
from kvtrace.converters.profile.profile import read_profile  # noqa: E402
from kvtrace.schema.runs import plain_rows  # noqa: E402
from kvtrace.schema.trace import open_trace, resolve  # noqa: E402

WIDTH, ROWS, LAYERS, REPLAYS = 512, 256, 4, 200


def norm() -> nn.Module:
    try:
        from liger_kernel.transformers import LigerRMSNorm
    except ModuleNotFoundError:
        return nn.RMSNorm(WIDTH)
    return LigerRMSNorm(WIDTH)


def make_step() -> tuple[Callable[[], None], torch.Tensor, torch.Tensor]:
    """A training step, its input, and where it leaves the loss."""
    torch.manual_seed(0)
    net = nn.Sequential(*(nn.Sequential(norm(), Net(WIDTH)) for _ in range(LAYERS))).cuda()
    optimizer = torch.optim.AdamW(net.parameters(), 1e-3, capturable=True)
    x = torch.randn(ROWS, WIDTH, device="cuda")
    loss = torch.zeros((), device="cuda")

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        found = (net(x) - x / 2).square().mean()
        found.backward()
        optimizer.step()
        loss.copy_(found.detach())

    return step, x, loss


def main() -> None:
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()) / "out"
    step, x, loss = make_step()
    with kvtrace.capture(out, mode="timeline"):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        losses = []
        batches = torch.randn(4, ROWS, WIDTH, device="cuda")
        for replay in range(REPLAYS):
            x.copy_(batches[replay % 4])
            graph.replay()
            losses.append(loss.clone())
        torch.cuda.synchronize()
    assert sum(losses[-8:]) < sum(losses[:8]), "it learns"
    check(out)


def check(out: Path) -> None:
    (run,) = open_trace(out).runs
    trace = open_trace(out)
    launches = plain_rows(trace.table("launches", (run,)))
    captured = [row for row in launches if row["phase"] == "graph_capture"]
    assert captured, "launches were captured"
    ran = plain_rows(trace.table("gpu_kernels", (run,)))
    replayed = [row for row in ran if row["graph_id"] is not None]
    runs = Counter(row["launch_seq"] for row in replayed if row["launch_seq"] is not None)
    assert runs == {row["seq"]: REPLAYS for row in captured}, runs
    calls = {row["seq"]: row["call_id"] for row in captured}
    assert all(row["call_id"] == calls.get(row["launch_seq"]) for row in replayed)
    others = Counter(row["name"] for row in replayed if row["launch_seq"] is None)
    assert others, "kernels of libraries ran from the graph too"
    assert all(count % REPLAYS == 0 for count in others.values()), others
    direct = [row for row in launches if row["phase"] == "run"]
    joined = {row["launch_seq"] for row in ran if row["graph_id"] is None}
    assert {row["seq"] for row in direct} <= joined, "launches outside the graph are joined as ever"
    selection = resolve(str(out))
    counted = sum(kernel.runs for kernel in read_profile(selection.trace, selection.runs).kernels)
    assert counted == len(direct) + len(captured) * REPLAYS, counted
    print(
        f"{len(captured)} launches captured, {REPLAYS} replays: {runs.total()} kernels joined, "
        f"{others.total()} of libraries in the graph; {len(direct)} launches outside it; the "
        f"profile counts {counted} runs"
    )


if __name__ == "__main__":
    main()
