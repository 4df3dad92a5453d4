"""To be run by hand on a machine with an NVIDIA GPU: transformers' Llama with Liger, compiled.

    KVTRACE=OUT KVTRACE_MODE=timeline python tests/gpu/llama_steady.py --reference FILE

Makes the fixture `tests/fixtures/h200/llama_steady`: a training loop as programs have it, with
batches from the host, AdamW that torch does not fuse, a loss that is logged in every tenth step,
and one mark, "steady", over all steps but the first ones. No step is marked. torch.profiler then
looks at as many steps of the same process and writes what it found to FILE (see
reference_profile.py).
"""

import argparse
from pathlib import Path

import torch
from liger_kernel.transformers import apply_liger_kernel_to_llama
from reference_profile import write_reference
from transformers import LlamaConfig, LlamaForCausalLM

import kvtrace

WARM_UP, STEPS = 10, 35
BATCH, CONTEXT, WORDS = 8, 1024, 32_000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--reference", type=Path, required=True)
    options = parser.parse_args()
    torch.manual_seed(0)
    apply_liger_kernel_to_llama()
    config = LlamaConfig(
        hidden_size=1024, intermediate_size=2816, num_hidden_layers=6, num_attention_heads=16,
        num_key_value_heads=8, vocab_size=WORDS, max_position_embeddings=CONTEXT, use_cache=False,
    )  # fmt: skip
    model = LlamaForCausalLM(config).to("cuda", torch.bfloat16)
    compiled = torch.compile(model)
    optimizer = torch.optim.AdamW(model.parameters(), 3e-4, foreach=True)
    words = torch.Generator().manual_seed(1)
    done = 0

    def step() -> None:
        nonlocal done
        batch = torch.randint(WORDS, (BATCH, CONTEXT), generator=words).to("cuda")
        loss = compiled(input_ids=batch, labels=batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        done += 1
        if done % 10 == 0:
            print(f"step {done}: {loss.item():.3f}")

    for _ in range(WARM_UP):
        step()
    with kvtrace.mark("steady"):
        for _ in range(STEPS):
            step()
    write_reference(step, STEPS, options.reference)


if __name__ == "__main__":
    main()
