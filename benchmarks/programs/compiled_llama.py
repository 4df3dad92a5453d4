"""Training steps of a Llama-like model under torch.compile, which makes all its Triton kernels.

    python benchmarks/programs/compiled_llama.py [--layers 6] [--steps N] [--json FILE]

RMS norms, rotary embeddings, grouped-query attention, SwiGLU and cross entropy in bf16, batch 8,
512 tokens, width 768, AdamW; it needs a CUDA device and torch alone.
"""

import stepping
import torch
from torch import Tensor, nn
from torch.nn import functional as F

WIDTH, HEADS, GROUPS, WORDS = 768, 12, 4, 16_384
BATCH, TOKENS = 8, 512
SIZE = WIDTH // HEADS


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first_half, second_half = x.float().chunk(2, -1)
    return torch.cat(
        (first_half * cos - second_half * sin, second_half * cos + first_half * sin), -1
    ).to(x.dtype)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.before, self.after = (nn.RMSNorm(WIDTH, eps=1e-5) for _ in range(2))
        self.packed = nn.Linear(WIDTH, (HEADS + 2 * GROUPS) * SIZE, bias=False)
        self.merge = nn.Linear(WIDTH, WIDTH, bias=False)
        self.gate, self.up = (nn.Linear(WIDTH, 3 * WIDTH, bias=False) for _ in range(2))
        self.down = nn.Linear(3 * WIDTH, WIDTH, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        heads = self.packed(self.before(x)).view(*x.shape[:2], -1, SIZE).transpose(1, 2)
        q, k, v = heads.split((HEADS, GROUPS, GROUPS), 1)
        mixed = F.scaled_dot_product_attention(
            rotated(q, cos, sin), rotated(k, cos, sin), v, is_causal=True, enable_gqa=True
        )
        x = x + self.merge(mixed.transpose(1, 2).reshape(x.shape))
        y = self.after(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Model(nn.Module):
    def __init__(self, layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.norm = nn.RMSNorm(WIDTH, eps=1e-5)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)
        powers = 10_000 ** (-torch.arange(0, SIZE, 2) / SIZE)
        angles = torch.outer(torch.arange(TOKENS), powers)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, ids: Tensor, targets: Tensor) -> Tensor:
        x = self.embedding(ids)
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        return F.cross_entropy(self.head(self.norm(x)).float().flatten(0, 1), targets.flatten())


def main() -> None:
    parser = stepping.parser(__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=6)
    options = parser.parse_args()
    torch.manual_seed(0)
    model = Model(options.layers).to("cuda", torch.bfloat16)
    forward = torch.compile(model)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)
    ids = torch.randint(WORDS, (BATCH, TOKENS), device="cuda")
    targets = ids.roll(-1, 1)

    def step() -> None:
        forward(ids, targets).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()

    stepping.run(step, options)


if __name__ == "__main__":
    main()
