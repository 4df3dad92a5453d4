"""To be run by hand on a machine with NVIDIA GPUs: training of a small Llama-like model.

    KVTRACE=OUT KVTRACE_MODE=timeline python tests/gpu/llama.py --compile [--graphs] \
        --reference FILE
    … torchrun --nproc-per-node 2 tests/gpu/llama.py --compile --reference FILE

RMS norms, rotary embeddings, grouped-query attention, SwiGLU, cross-entropy and AdamW, in bfloat16.
`--graphs` is torch.compile's mode reduce-overhead: CUDA graphs. Under torchrun the model is
wrapped for data parallelism over NCCL. After the recorded steps torch.profiler looks at as many
more and writes what it found to FILE (see reference_profile.py).
"""

import argparse
import os
from pathlib import Path

import torch
import torch.distributed as dist
from reference_profile import write_reference
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

import kvtrace

WIDTH, HEADS, GROUPS, LAYERS, WORDS = 768, 12, 4, 4, 16_384
BATCH, CONTEXT = 8, 512
WARM_UP = 4


class Norm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale = torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-5)
        return (x * scale).to(x.dtype) * self.weight


def rotated(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    even, odd = x.float().chunk(2, -1)
    return torch.cat((even * cos - odd * sin, odd * cos + even * sin), -1).to(x.dtype)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.size = WIDTH // HEADS
        self.packed = nn.Linear(WIDTH, (HEADS + 2 * GROUPS) * self.size, bias=False)
        self.merge = nn.Linear(WIDTH, WIDTH, bias=False)
        angles = torch.outer(
            torch.arange(CONTEXT), 10_000 ** (-torch.arange(0, self.size, 2) / self.size)
        )
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, tokens, _ = x.shape
        heads = self.packed(x).view(batch, tokens, -1, self.size).transpose(1, 2)
        q, k, v = heads.split((HEADS, GROUPS, GROUPS), 1)
        q, k = rotated(q, self.cos, self.sin), rotated(k, self.cos, self.sin)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.merge(out.transpose(1, 2).reshape(x.shape))


class FeedForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.up = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.down = nn.Linear(3 * WIDTH, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention_norm, self.attention = Norm(WIDTH), Attention()
        self.feed_norm, self.feed = Norm(WIDTH), FeedForward()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed(self.feed_norm(x))


class Llama(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm, self.head = Norm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        scores = self.head(self.norm(self.blocks(self.words(tokens))))
        return F.cross_entropy(scores.view(-1, WORDS).float(), targets.reshape(-1))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--graphs", action="store_true")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--reference", type=Path, required=True)
    options = parser.parse_args()
    rank = int(os.environ.get("LOCAL_RANK", "0"))
    torch.cuda.set_device(rank)
    torch.manual_seed(rank)
    model: nn.Module = Llama().to("cuda", torch.bfloat16)
    if "LOCAL_RANK" in os.environ:
        dist.init_process_group("nccl")
        model = DistributedDataParallel(model, device_ids=[rank])
    if options.compile:
        model = torch.compile(model, mode="reduce-overhead" if options.graphs else None)
    optimizer = torch.optim.AdamW(model.parameters(), 3e-4, fused=True)
    words = torch.randint(WORDS, (BATCH, CONTEXT + 1), device="cuda")

    def step() -> None:
        if options.graphs:
            torch.compiler.cudagraph_mark_step_begin()
        loss = model(words[:, :-1], words[:, 1:])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    for _ in range(WARM_UP):
        step()
    for _ in range(options.steps):
        with kvtrace.mark("step"):
            step()
    file = options.reference
    write_reference(step, options.steps, file.with_stem(f"{file.stem}_{rank}") if rank else file)
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
