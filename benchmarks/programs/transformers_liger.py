"""Training steps of transformers' Llama with Liger's kernels, on one GPU or on several.

    python benchmarks/programs/transformers_liger.py [--compile] [--layers 6] [--ranks 1]
        [--steps N] [--json FILE]

Layers of width 768 in bf16, batch 4, 512 tokens, AdamW: so little work for an H200 that the
processor is the limit. With several ranks (DDP) this process is the first, starts the others, and
gives them turns as it gets them; each rank takes them on four processors of its own. It needs CUDA
devices, `transformers` and `liger-kernel`.
"""

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import stepping
import torch
import torch.distributed as dist
from liger_kernel.transformers import apply_liger_kernel_to_llama
from torch.nn.parallel import DistributedDataParallel
from transformers import LlamaConfig, LlamaForCausalLM

BATCH, TOKENS = 4, 512


class RankTurns(stepping.Turns):
    """Turns that the first rank is given, and tells the others."""

    def __init__(self, due: int, reports: int) -> None:
        self._cores = sorted(os.sched_getaffinity(0))[4:8]
        if dist.get_rank() == 0:
            super().__init__(due, reports)
            return
        self.reports = Path(os.devnull).open("w")  # noqa: SIM115 - for as long as the process
        self.left = 0

    def due_steps(self) -> int:
        for thread in Path("/proc/self/task").iterdir():  # with those of the autograd engine
            os.sched_setaffinity(int(thread.name), self._cores or os.sched_getaffinity(0))
        count = torch.tensor(super().due_steps() if dist.get_rank() == 0 else 0)
        dist.broadcast(count, 0)
        return int(count)


def join_ranks(count: int) -> list[subprocess.Popen[bytes]]:
    """Join the group of all ranks, which the first rank starts; return what it started."""
    rank = int(os.environ.get("RANK", 0))
    ranks = []
    if rank == 0:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(probe.getsockname()[1])}
        os.environ["WORLD_SIZE"] = str(count)
        command = [sys.executable, *sys.orig_argv[1:]]
        ranks = [
            subprocess.Popen(command, env=os.environ | {"RANK": str(other)})
            for other in range(1, count)
        ]
    cores = sorted(os.sched_getaffinity(0))
    share = len(cores) // count
    os.sched_setaffinity(0, cores[rank * share : (rank + 1) * share] or cores)
    torch.cuda.set_device(rank)
    dist.init_process_group("cpu:gloo,cuda:nccl", rank=rank, world_size=count)
    return ranks


def main() -> None:
    parser = stepping.parser(__doc__.splitlines()[0])
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--words", type=int, default=6_000)
    parser.add_argument(
        "--separate-loss", action="store_true", help="no fused linear cross entropy"
    )
    options = parser.parse_args()
    ranks = join_ranks(options.ranks) if options.ranks > 1 else []
    torch.manual_seed(0)
    fused = not options.separate_loss
    apply_liger_kernel_to_llama(fused_linear_cross_entropy=fused, cross_entropy=not fused)
    config = LlamaConfig(
        vocab_size=options.words, hidden_size=768, intermediate_size=2048,
        num_hidden_layers=options.layers, num_attention_heads=12, num_key_value_heads=4,
        max_position_embeddings=TOKENS,
    )  # fmt: skip
    model = LlamaForCausalLM(config).to("cuda", torch.bfloat16)
    forward: Any = torch.compile(model) if options.compile else model
    if options.ranks > 1:
        forward = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)
    ids = torch.randint(options.words, (BATCH, TOKENS), device="cuda")

    def step() -> None:
        forward(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()

    steps = stepping.Steps(options, RankTurns if options.ranks > 1 else stepping.Turns)
    while steps.more():
        step()
    for rank in ranks:
        rank.wait()


if __name__ == "__main__":
    main()
