"""One training step of transformers' Llama with Liger's kernels, eager, AdamW, float32.

Run on a machine with a GPU, without kvtrace, and on one without, with
`KVTRACE=out KVTRACE_DEVICE=cpu KVTRACE_COMPILE=ttir`; then compare what the two print:

    python tests/gpu/llama_liger_step.py > gpu.json
    python tests/gpu/llama_liger_step.py --compare gpu.json

Wants transformers and liger-kernel. It prints JSON: the losses before and after the step, the norm
of the gradients, sums of the parameters, the seconds of each part. Everything random is drawn on
the CPU, so that both machines begin with the same numbers. With --compare it ends with 1 where a
loss or a norm is further off than float32 sums of that length may be.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import torch

#: Relative distance of what two orders of summation may give: tokens x width terms in float32.
TOLERANCE = 2e-5


def step(layers: int, width: int, tokens: int) -> dict[str, object]:
    """Train one step and return what came out."""
    from liger_kernel.transformers import apply_liger_kernel_to_llama
    from transformers import LlamaConfig, LlamaForCausalLM

    apply_liger_kernel_to_llama()
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=1024, hidden_size=width, intermediate_size=2 * width, num_hidden_layers=layers,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=tokens,
        attn_implementation="eager",
    )  # fmt: skip
    begin = time.perf_counter()
    model = LlamaForCausalLM(config).to("cuda")
    words = torch.randint(0, config.vocab_size, (2, tokens)).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    made = time.perf_counter()
    first = model(input_ids=words, labels=words).loss
    first.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1e9)
    optimizer.step()
    optimizer.zero_grad()
    torch.cuda.synchronize()
    trained = time.perf_counter()
    with torch.no_grad():
        second = model(input_ids=words, labels=words).loss
    return {
        "losses": [first.item(), second.item()],
        "norm": norm.item(),
        "sum": sum(each.double().sum().item() for each in model.parameters()),
        "device": torch.cuda.get_device_name(),
        "is_cuda": all(each.is_cuda for each in model.parameters()),
        "seconds": {"model": round(made - begin, 2), "step": round(trained - made, 2)},
    }


def main() -> int:
    """Run, print, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--compare", type=Path)
    chosen = parser.parse_args()
    found = step(chosen.layers, chosen.width, chosen.tokens)
    print(json.dumps(found))
    if chosen.compare is None:
        return 0
    other = json.loads(chosen.compare.read_text().splitlines()[-1])
    pairs = zip([*found["losses"], found["norm"]], [*other["losses"], other["norm"]], strict=True)
    off = max(abs(ours - theirs) / abs(theirs) for ours, theirs in pairs)
    print(f"furthest off: {off:.2e} of {TOLERANCE:.0e}", file=sys.stderr)
    return int(off > TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
