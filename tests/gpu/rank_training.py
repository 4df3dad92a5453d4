"""A training program of several ranks, with a Triton kernel in its network; it knows no kvtrace.

    torchrun --nproc-per-node 2 tests/gpu/rank_training.py [STEPS] [SECONDS]
    python tests/gpu/rank_training.py [STEPS] [SECONDS] --start spawn|fork|processes

Each rank says `rank R pid P step S` after each step. It goes on for STEPS steps, and for SECONDS at
least. On a machine without a GPU the ranks talk through gloo, and launches need kvtrace's driver.
The second form starts two ranks with `multiprocessing`; in `processes` they do not know each other.
"""

import argparse
import os
import socket
import time
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
import triton
import triton.language as tl
from torch import nn
from torch.nn.parallel import DistributedDataParallel

RANKS = 2


@triton.jit
def squared_relu(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.maximum(tl.load(x + lanes, mask=lanes < n), 0.0)
    tl.store(out + lanes, value * value, mask=lanes < n)


@triton.jit
def squared_relu_backward(x, upstream, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.maximum(tl.load(x + lanes, mask=lanes < n), 0.0)
    slope = tl.load(upstream + lanes, mask=lanes < n)
    tl.store(out + lanes, 2 * value * slope, mask=lanes < n)


class SquaredRelu(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
        context.save_for_backward(x)
        out = torch.empty_like(x)
        squared_relu[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
        return out

    @staticmethod
    def backward(context: Any, upstream: torch.Tensor) -> torch.Tensor:
        (x,) = context.saved_tensors
        out = torch.empty_like(x)
        grid = (triton.cdiv(x.numel(), 1024),)
        squared_relu_backward[grid](x, upstream.contiguous(), out, x.numel(), BLOCK=1024)
        return out


class Net(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(SquaredRelu.apply(self.up(x)))


def train(rank: int, steps: int, seconds: float) -> None:
    """Train one rank of a process group that is there already."""
    on_gpu = torch.cuda.is_available()
    device = torch.device("cuda", rank) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(device)
    torch.manual_seed(0)
    width, rows = (512, 256) if on_gpu else (16, 4)
    net: nn.Module = Net(width).to(device)
    if dist.is_initialized():
        net = DistributedDataParallel(net, device_ids=[rank] if on_gpu else None)
    optimizer = torch.optim.SGD(net.parameters(), 1e-3)
    x = torch.randn(rows, width, device=device)
    begin, step = time.monotonic(), 0
    going_on = torch.ones(1, device=device)
    while bool(going_on):
        net(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        step += 1
        print(f"rank {rank} pid {os.getpid()} step {step}", flush=True)
        going_on.fill_(step < steps or time.monotonic() - begin < seconds)
        if dist.is_initialized():
            dist.all_reduce(going_on, dist.ReduceOp.MAX)  # all end at the same step


def join_ranks(rank: int | None = None, port: int = 0) -> None:
    """Make the process group, by the launcher's variables or with a port of our own."""
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    if rank is None:
        dist.init_process_group(backend)
        return
    where = f"tcp://127.0.0.1:{port}"
    dist.init_process_group(backend, init_method=where, rank=rank, world_size=RANKS)


def started_rank(rank: int, steps: int, seconds: float, port: int) -> None:
    """Be a rank that multiprocessing has started; port 0: on its own."""
    if port:
        join_ranks(rank, port)
    train(rank, steps, seconds)
    if port:
        dist.destroy_process_group()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("steps", type=int, nargs="?", default=20)
    parser.add_argument("seconds", type=float, nargs="?", default=0.0)
    parser.add_argument("--start", choices=("spawn", "fork", "processes"))
    options = parser.parse_args()
    if options.start is None:
        join_ranks()
        train(int(os.environ["LOCAL_RANK"]), options.steps, options.seconds)
        dist.destroy_process_group()
        return
    port = 0 if options.start == "processes" else free_port()
    context = multiprocessing.get_context("fork" if options.start == "fork" else "spawn")
    given = (options.steps, options.seconds, port)
    ranks = [context.Process(target=started_rank, args=(rank, *given)) for rank in range(RANKS)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()
    raise SystemExit(max(abs(rank.exitcode or 0) for rank in ranks))


if __name__ == "__main__":
    main()
