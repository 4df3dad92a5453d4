"""To be run by hand on a machine with an NVIDIA GPU: torch.compile's kernels, each variant checked.

    python tests/gpu/check_compiled.py

A small transformer is trained for some steps under torch.compile, in fp32 and in bf16, with
KVTRACE_CHECK=first, and every launch that was kept is compared with its TTIR. Nothing may differ.
"""

import sys
import tempfile
from collections import Counter
from pathlib import Path

import torch
from torch import nn

import kvtrace
from tests.gpu.check_libraries import checked_rows

WIDTH, HEADS, WORDS, TOKENS, BATCH, STEPS = 256, 4, 1000, 128, 8, 4


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.before, self.after = nn.RMSNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        split = self.qkv(self.before(x)).view(BATCH, TOKENS, 3, HEADS, WIDTH // HEADS)
        q, k, v = (part.transpose(1, 2) for part in split.unbind(2))
        scores = (q @ k.transpose(-1, -2)) * (WIDTH // HEADS) ** -0.5
        hidden = torch.ones(TOKENS, TOKENS, dtype=torch.bool, device=x.device).triu(1)
        mixed = scores.masked_fill(hidden, -torch.inf).softmax(-1) @ v
        x = x + self.out(mixed.transpose(1, 2).reshape(BATCH, TOKENS, WIDTH))
        return x + self.down(nn.functional.gelu(self.up(self.after(x))))


def train(narrow: bool) -> None:
    torch.manual_seed(5)
    model = nn.Sequential(
        nn.Embedding(WORDS, WIDTH), Layer(), Layer(), nn.Linear(WIDTH, WORDS)
    ).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)

    def loss_of(words: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cuda", torch.bfloat16, enabled=narrow):
            logits = model(words)
            return nn.functional.cross_entropy(logits.flatten(0, 1).float(), words.flatten())

    step = torch.compile(loss_of)
    for _ in range(STEPS):
        words = torch.randint(0, WORDS, (BATCH, TOKENS), device="cuda")
        step(words).backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()


def main() -> int:
    wrong = 0
    for narrow in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            with kvtrace.capture(folder, check="first", tensors="none"):
                train(narrow)
            rows = list(checked_rows(Path(folder)))
        for row in rows:
            if row["answer"] != "agrees":
                print(row["answer"], row["kernel"], row["reason"], row["wrong"])
        wrong += sum(row["answer"] == "differs" for row in rows)
        widest = max((row.get("bound", 0) for row in rows), default=0)
        answers = Counter(row["answer"] for row in rows)
        print("bf16" if narrow else "fp32", answers, "largest median bound", widest)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
