"""Training steps of transformers' Llama with Liger's kernels.

    python benchmarks/programs/transformers_liger.py [--compile] [--steps N] [--json FILE]

Six layers of width 768 in bf16, batch 4, 512 tokens, AdamW: so little work for an H200 that the
processor is the limit. It needs a CUDA device, `transformers` and `liger-kernel`.
"""

import stepping
import torch
from liger_kernel.transformers import apply_liger_kernel_to_llama
from transformers import LlamaConfig, LlamaForCausalLM

BATCH, TOKENS = 4, 512


def main() -> None:
    parser = stepping.parser(__doc__.splitlines()[0])
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--words", type=int, default=6_000)
    parser.add_argument(
        "--separate-loss", action="store_true", help="no fused linear cross entropy"
    )
    options = parser.parse_args()
    torch.manual_seed(0)
    fused = not options.separate_loss
    apply_liger_kernel_to_llama(fused_linear_cross_entropy=fused, cross_entropy=not fused)
    config = LlamaConfig(
        vocab_size=options.words, hidden_size=768, intermediate_size=2048, num_hidden_layers=6,
        num_attention_heads=12, num_key_value_heads=4, max_position_embeddings=TOKENS,
    )  # fmt: skip
    model = LlamaForCausalLM(config).to("cuda", torch.bfloat16)
    forward = torch.compile(model) if options.compile else model
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)
    ids = torch.randint(options.words, (BATCH, TOKENS), device="cuda")

    def step() -> None:
        forward(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()

    stepping.run(step, options)


if __name__ == "__main__":
    main()
