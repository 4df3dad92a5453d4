"""Steps of a Lightning training loop: a model of Liger's layers, eager.

    python benchmarks/programs/lightning_loop.py [--steps N] [--json FILE]

Lightning's own loop asks for the batch and calls the step's hooks; a step is what lies between two
ends of a batch. It needs a CUDA device, `lightning` or `pytorch-lightning`, and `liger-kernel`.
"""

from collections.abc import Iterator
from typing import Any

import stepping
import torch
from liger_kernel.transformers import LigerCrossEntropyLoss, LigerRMSNorm
from liger_kernel.transformers.functional import liger_swiglu
from torch import Tensor, nn

try:
    from lightning import pytorch as lightning
except ImportError:
    import pytorch_lightning as lightning  # the same under its older name

WIDTH, LAYERS, WORDS, BATCH, TOKENS = 512, 8, 8_000, 8, 256


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = LigerRMSNorm(WIDTH)
        self.gate, self.up = (nn.Linear(WIDTH, 2 * WIDTH, bias=False) for _ in range(2))
        self.down = nn.Linear(2 * WIDTH, WIDTH, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(x)
        return x + self.down(liger_swiglu(self.gate(y), self.up(y)))


class Model(lightning.LightningModule):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.Sequential(*(Layer() for _ in range(LAYERS)))
        self.head = nn.Linear(WIDTH, WORDS, bias=False)
        self.loss = LigerCrossEntropyLoss()

    def training_step(self, batch: Tensor, _index: int) -> Tensor:
        out = self.head(self.layers(self.embedding(batch)))
        return self.loss(out.flatten(0, 1), batch.flatten())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), 1e-4, fused=True)


class Batches(torch.utils.data.IterableDataset[Tensor]):
    """Iterable of one batch, repeated; each request for a batch ends a step and begins the next."""

    def __init__(self, steps: stepping.Steps) -> None:
        self.steps = steps
        self.batch = torch.randint(WORDS, (BATCH, TOKENS))

    def __iter__(self) -> Iterator[Tensor]:
        while True:
            torch.cuda.synchronize()
            if not self.steps.more():
                return
            yield self.batch


def main() -> None:
    options = stepping.parser(__doc__.splitlines()[0]).parse_args()
    torch.manual_seed(0)
    batches: Any = torch.utils.data.DataLoader(Batches(stepping.Steps(options)), batch_size=None)
    trainer = lightning.Trainer(
        max_epochs=1, accelerator="gpu", devices=1, precision="bf16-true", logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(Model(), batches)


if __name__ == "__main__":
    main()
