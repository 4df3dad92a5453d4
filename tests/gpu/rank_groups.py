"""To be run by hand on a machine with 4 NVIDIA GPUs: tensor and data parallel groups on one stream.

    KVTRACE=OUT KVTRACE_MODE=timeline torchrun --nproc-per-node 4 tests/gpu/rank_groups.py [slow]

With `slow` rank 2 multiplies half as many matrices again. torch 2.8 and later run the collectives
of all groups on the program's own stream, where only their numbers tell groups apart.
"""

import gc
import sys
from collections.abc import Callable

import torch
import torch.distributed as dist
import triton
import triton.language as tl

import kvtrace

STEPS, WARM_UP, LAYERS, PRODUCTS, WIDTH = 12, 5, 4, 8, 4096


@triton.jit
def add(x, n, block: tl.constexpr):
    place = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(x + place, tl.load(x + place, mask=place < n) + 1, mask=place < n)


def run_steps(step: Callable[[], None], steps: int, warm_up: int) -> None:
    """Run steps with marks after some without, and end the job."""
    for _ in range(warm_up):
        step()
    gc.collect()
    gc.freeze()
    gc.disable()
    dist.barrier()
    for number in range(steps):
        with kvtrace.mark("step", number=number):
            step()
    dist.barrier()
    dist.destroy_process_group()


def main() -> None:
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    torch.cuda.set_device(rank)
    tensor = [dist.new_group(ranks, group_desc=f"tp{ranks}") for ranks in ([0, 1], [2, 3])]
    data = [dist.new_group(ranks, group_desc=f"dp{ranks}") for ranks in ([0, 2], [1, 3])]
    left = torch.randn(WIDTH, WIDTH, device="cuda", dtype=torch.bfloat16)
    gradients = torch.randn(WIDTH * WIDTH, device="cuda", dtype=torch.bfloat16)
    products = PRODUCTS * 3 // 2 if sys.argv[1:] == ["slow"] and rank == 2 else PRODUCTS

    def step() -> None:
        add[(8,)](gradients, 1024, block=128)
        for _ in range(LAYERS):
            for _ in range(products):
                result = left @ left
            dist.all_reduce(result, group=tensor[rank // 2])
        dist.all_reduce(gradients, group=data[rank % 2])
        torch.cuda.synchronize()

    run_steps(step, STEPS, WARM_UP)


if __name__ == "__main__":
    main()
