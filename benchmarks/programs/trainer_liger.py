"""Steps of transformers' Trainer with Liger's kernels, on a small Llama.

    python benchmarks/programs/trainer_liger.py [--layers 6] [--steps N] [--json FILE]

The Trainer's own loop asks for batches and calls the model; a step is what lies between two
beginnings of a step. It needs a CUDA device, `transformers`, `accelerate` and `liger-kernel`.
"""

import tempfile
from typing import Any

import stepping
import torch
from liger_kernel.transformers import apply_liger_kernel_to_llama
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

BATCH, TOKENS, WORDS = 4, 512, 6_000
MANY = 1_000_000


class Stepping(TrainerCallback):
    """A callback that ends a step and begins the next one, and stops the loop at the end."""

    def __init__(self, steps: stepping.Steps) -> None:
        self.steps = steps

    def on_step_begin(self, _arguments: Any, _state: Any, control: Any, **_named: Any) -> None:
        torch.cuda.synchronize()
        if not self.steps.more():
            control.should_training_stop = control.should_epoch_stop = True


class Batches(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    """Equal rows of random tokens."""

    def __init__(self) -> None:
        self.row = torch.randint(WORDS, (TOKENS,))

    def __len__(self) -> int:
        return MANY

    def __getitem__(self, _index: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.row, "labels": self.row}


def main() -> None:
    parser = stepping.parser(__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=6)
    options = parser.parse_args()
    torch.manual_seed(0)
    apply_liger_kernel_to_llama()
    config = LlamaConfig(
        vocab_size=WORDS, hidden_size=768, intermediate_size=2048,
        num_hidden_layers=options.layers, num_attention_heads=12, num_key_value_heads=4,
        max_position_embeddings=TOKENS,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder, per_device_train_batch_size=BATCH, max_steps=MANY, bf16=True,
            report_to=[], save_strategy="no", logging_strategy="no", disable_tqdm=True,
            optim="adamw_torch_fused",
        )  # fmt: skip
        trainer = Trainer(
            model=LlamaForCausalLM(config), args=arguments, train_dataset=Batches(),
            callbacks=[Stepping(stepping.Steps(options))],
        )  # fmt: skip
        trainer.train()


if __name__ == "__main__":
    main()
