"""Training steps of a gated linear attention model of flash-linear-attention, eager.

    python benchmarks/programs/fla_training.py [--steps N] [--json FILE]

Four layers of width 512 in bf16, batch 4, 512 tokens, AdamW: all attention, norms and the loss are
FLA's Triton kernels. It needs a CUDA device and `flash-linear-attention` (import name fla).
"""

import stepping
import torch
from fla.models import GLAConfig, GLAForCausalLM

BATCH, TOKENS, WORDS = 4, 512, 6_000


def main() -> None:
    options = stepping.parser(__doc__.splitlines()[0]).parse_args()
    torch.manual_seed(0)
    config = GLAConfig(hidden_size=512, num_hidden_layers=4, num_heads=4, vocab_size=WORDS)
    model = GLAForCausalLM(config).to("cuda", torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)
    ids = torch.randint(WORDS, (BATCH, TOKENS), device="cuda")

    def step() -> None:
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()

    stepping.run(step, options)


if __name__ == "__main__":
    main()
