"""Train a small character-level transformer whose heavy operations are Triton kernels.

    python examples/train.py                    # with a GPU
    KVTRACE=out python examples/train.py        # with or without one; then: kvtrace info out

Layer norm, causal attention, cross-entropy and every matrix product (forward and backward) are the
kernels in train_kernels/. The sizes are odd on purpose: masks matter. This program does not import
kvtrace.
"""

import argparse
import sys
from pathlib import Path

import torch
from launch_device import choose_device
from torch import nn
from train_kernels.attention import CausalAttention
from train_kernels.cross_entropy import CrossEntropy
from train_kernels.layer_norm import LayerNorm
from train_kernels.matmul import Linear

TEXT = Path(__file__).with_name("harbour.txt")
CONTEXT, BATCH, WIDTH, HEADS, LAYERS = 33, 6, 60, 3, 2


class Projection(nn.Module):
    def __init__(self, inner, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inner, columns) * inner**-0.5)
        self.bias = nn.Parameter(torch.zeros(columns))

    def forward(self, x):
        rows = x.reshape(-1, x.shape[-1])
        return Linear.apply(rows, self.weight, self.bias).view(*x.shape[:-1], -1)


class Norm(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(columns))
        self.bias = nn.Parameter(torch.zeros(columns))

    def forward(self, x):
        return LayerNorm.apply(x.reshape(-1, x.shape[-1]), self.weight, self.bias).view_as(x)


class Block(nn.Module):
    """Transformer block: x + attention(norm(x)), then x + feed_forward(norm(x))."""

    def __init__(self, compiled):
        super().__init__()
        self.attention_norm, self.feed_norm = Norm(WIDTH), Norm(WIDTH)
        self.packed = Projection(WIDTH, 3 * WIDTH)
        self.merge = Projection(WIDTH, WIDTH)
        if compiled:  # plain torch modules, so that Inductor writes the kernels
            layers = nn.Sequential(
                nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
            )
            self.feed = torch.compile(layers)
        else:
            self.feed = nn.Sequential(
                Projection(WIDTH, 4 * WIDTH), nn.GELU(), Projection(4 * WIDTH, WIDTH)
            )

    def forward(self, x):
        batch, length, _ = x.shape
        packed = self.packed(self.attention_norm(x))
        heads = CausalAttention.apply(packed.view(batch, length, 3, HEADS, WIDTH // HEADS))
        x = x + self.merge(heads.reshape(batch, length, WIDTH))
        return x + self.feed(self.feed_norm(x))


class Transformer(nn.Module):
    def __init__(self, letters, compiled=False):
        super().__init__()
        self.letter = nn.Embedding(letters, WIDTH)
        self.place = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block(compiled) for _ in range(LAYERS)))
        self.norm = Norm(WIDTH)
        self.head = Projection(WIDTH, letters)

    def forward(self, letters):
        places = torch.arange(letters.shape[1], device=letters.device)
        return self.head(self.norm(self.blocks(self.letter(letters) + self.place(places))))


def read_text():
    """Return the training text as a tensor of letter numbers, and how many letters there are."""
    text = TEXT.read_text(encoding="utf-8")
    alphabet = sorted(set(text))
    number = {letter: index for index, letter in enumerate(alphabet)}
    return torch.tensor([number[letter] for letter in text]), len(alphabet)


def train(steps, device, compiled=False, learning_rate=4e-3):
    """Train a new model for `steps` steps; return the loss of each step."""
    data, letters = read_text()
    model = Transformer(letters, compiled).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    losses = []
    for step in range(steps):
        starts = torch.randint(len(data) - CONTEXT, (BATCH,))
        windows = torch.stack([data[start : start + CONTEXT + 1] for start in starts]).to(device)
        logits = model(windows[:, :-1])
        target = windows[:, 1:].reshape(-1)
        loss = CrossEntropy.apply(logits.view(-1, letters), target).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 10 == 0 or step == steps - 1:
            print(f"step {step:4d}  loss {losses[-1]:.4f}", flush=True)
    return losses


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
    parser.add_argument("--compile", action="store_true", help="torch.compile one part")
    arguments = parser.parse_args()
    if arguments.steps < 2:
        parser.error("--steps must be at least 2, or no loss can go down")
    return arguments


def main():
    arguments = parse_arguments()
    device = choose_device(arguments.device)
    torch.manual_seed(arguments.seed)
    losses = train(arguments.steps, device, arguments.compile)
    edge = max(1, min(10, len(losses) // 2))
    before, after = sum(losses[:edge]) / edge, sum(losses[-edge:]) / edge
    print(f"mean loss of the first and last {edge} steps: {before:.4f} -> {after:.4f}")
    if after >= before:
        print("train.py: the loss did not go down.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
