"""To be run by hand on a machine with 4 NVIDIA GPUs: ranks that hang in NCCL, for `fault --now`.

    KVTRACE=OUT KVTRACE_FAULTS=on torchrun --nproc-per-node 4 tests/gpu/rank_hangs.py absent|order

After `BEFORE` AllReduces the last rank is asleep (`absent`), or calls Broadcast before the next
AllReduce, the others behind it (`order`). Each rank prints "hangs" before it waits.
"""

import sys
import time

import torch
import torch.distributed as dist

import kvtrace

BEFORE = 20


def sleeps_instead() -> None:
    time.sleep(600)


def main() -> None:
    dist.init_process_group("nccl")
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    torch.cuda.set_device(rank)
    tensor = torch.ones(1 << 24, device="cuda")
    kvtrace.mark("begun")
    for _ in range(BEFORE):
        dist.all_reduce(tensor)
    torch.cuda.synchronize()
    print("hangs", flush=True)
    if rank == last and sys.argv[1] == "absent":
        sleeps_instead()
    elif rank == last:
        dist.broadcast(tensor, 0)
        dist.all_reduce(tensor)
    else:
        dist.all_reduce(tensor)
        dist.broadcast(tensor, 0)
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
