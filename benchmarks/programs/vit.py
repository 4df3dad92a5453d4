"""Training steps of a ViT, all of it torch's: eager, compiled, or replayed as CUDA graphs.

    python benchmarks/programs/vit.py [--how eager|compiled|graphs] [--device cuda] [--layers 12]
        [--batch 8] [--steps N] [--json FILE]

A ViT of width 384 with 6 heads, 196 patches and a class token, bf16, AdamW. `graphs` is
torch.compile(mode="reduce-overhead"): forward and backward are replayed as graphs, the optimizer is
eager. It needs torch alone, and on `--device cpu` no GPU.
"""

import stepping
import torch
from torch import Tensor, nn
from torch.nn import functional as F

WIDTH, HEADS, PATCHES, CLASSES = 384, 6, 196, 100
MODES = {"compiled": "default", "graphs": "reduce-overhead"}


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.before, self.after = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.packed, self.merge = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        heads = self.packed(self.before(x)).view(*x.shape[:2], 3, HEADS, -1).transpose(1, 3)
        q, k, v = heads.unbind(2)
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape)
        x = x + self.merge(mixed)
        return x + self.down(F.gelu(self.up(self.after(x))))


class Model(nn.Module):
    def __init__(self, layers: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, 16, 16)
        self.label = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.places = nn.Parameter(torch.randn(1, PATCHES + 1, WIDTH) / 50)
        self.blocks = nn.Sequential(*(Block() for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, CLASSES)

    def forward(self, images: Tensor, labels: Tensor) -> Tensor:
        patches = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat((self.label.expand(len(images), -1, -1), patches), 1) + self.places
        out = self.head(self.norm(self.blocks(x))[:, 0])
        return F.cross_entropy(out.float(), labels)


def main() -> None:
    parser = stepping.parser(__doc__.splitlines()[0])
    parser.add_argument("--how", choices=("eager", *MODES), default="eager")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--batch", type=int, default=8)
    options = parser.parse_args()
    torch.manual_seed(0)
    model = Model(options.layers).to(options.device, torch.bfloat16)
    forward = torch.compile(model, mode=MODES[options.how]) if options.how in MODES else model
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)
    images = torch.randn(options.batch, 3, 224, 224, device=options.device, dtype=torch.bfloat16)
    labels = torch.randint(CLASSES, (options.batch,), device=options.device)

    def step() -> None:
        forward(images, labels).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if options.device == "cuda":
            torch.cuda.synchronize()

    stepping.run(step, options)


if __name__ == "__main__":
    main()
