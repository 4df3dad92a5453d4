"""To be run by hand on a machine with 4 NVIDIA GPUs: ranks that hang in NCCL, for `fault --now`.

    KVTRACE=OUT torchrun --nproc-per-node 4 tests/gpu/rank_hangs.py absent|order

After `BEFORE` AllReduces rank 2 is asleep (`absent`), or calls Broadcast in place of the next
(`order`). Each rank prints "hangs" before it waits.
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
    rank = dist.get_rank()
    torch.cuda.set_device(rank)
    tensor = torch.ones(1 << 16, device="cuda")
    kvtrace.mark("begun")
    for _ in range(BEFORE):
        dist.all_reduce(tensor)
    torch.cuda.synchronize()
    print("hangs", flush=True)
    if rank == 2 and sys.argv[1] == "absent":
        sleeps_instead()
    elif rank == 2:
        dist.broadcast(tensor, 0)
    else:
        dist.all_reduce(tensor)
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
