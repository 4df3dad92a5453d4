"""To be run by hand on a machine with NVIDIA GPUs: a pipeline of stages, and experts on ranks.

    KVTRACE=OUT KVTRACE_MODE=timeline torchrun --nproc-per-node 2 tests/gpu/rank_stages.py pipeline
    KVTRACE=OUT KVTRACE_MODE=timeline torchrun --nproc-per-node 4 tests/gpu/rank_stages.py experts

`pipeline`: all forwards of `MICRO` micro-batches, then all backwards, which take as long; with p
stages the bubble is (p - 1) / (MICRO + p - 1). `experts`: each layer dispatches tokens, multiplies,
and combines; rank 1 has twice the products of the others between the two (max/mean 1.6 of 4).
"""

import os
import sys

import torch
import torch.distributed as dist
from late_ranks import pin
from rank_groups import add, run_steps

STEPS, WARM_UP, MICRO, PRODUCTS, WIDTH, LAYERS = 36, 5, 4, 24, 4096, 4


def work(left: torch.Tensor, products: int) -> None:
    for _ in range(products):
        left @ left


def pipeline(left: torch.Tensor, parcel: torch.Tensor) -> None:
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    for _ in range(MICRO):
        if rank > 0:
            dist.recv(parcel, rank - 1)
        work(left, PRODUCTS)
        if rank < last:
            dist.send(parcel, rank + 1)
    for _ in range(MICRO):
        if rank < last:
            dist.recv(parcel, rank + 1)
        work(left, PRODUCTS)
        if rank > 0:
            dist.send(parcel, rank - 1)


def experts(left: torch.Tensor, parcel: torch.Tensor) -> None:
    result = torch.empty_like(parcel)
    for _ in range(LAYERS):
        work(left, PRODUCTS // 4)
        dist.all_to_all_single(result, parcel)
        work(left, PRODUCTS // 2 * (2 if dist.get_rank() == 1 else 1))
        dist.all_to_all_single(parcel, result)


def main() -> None:
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_rank())
    cores = sorted(os.sched_getaffinity(0))
    share = len(cores) // dist.get_world_size()
    pin(set(cores[dist.get_rank() * share : (dist.get_rank() + 1) * share]))
    left = torch.randn(WIDTH, WIDTH, device="cuda", dtype=torch.bfloat16)
    parcel = torch.zeros(1 << 20, device="cuda", dtype=torch.bfloat16)
    run = {"pipeline": pipeline, "experts": experts}[sys.argv[1]]

    def step() -> None:
        add[(8,)](parcel, 1024, block=128)
        run(left, parcel)
        torch.cuda.synchronize()

    run_steps(step, STEPS, WARM_UP)


if __name__ == "__main__":
    main()
