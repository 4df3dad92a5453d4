"""Cost of recording a serving engine: vLLM, offline, with a random model of two layers.

Needs a GPU and vLLM (0.24 was used). A model of two Llama layers of width 512 has so little to do
on the device that the processor is the limit, which is the worst case for a recorder. The engine
runs in this process (`VLLM_ENABLE_V1_MULTIPROCESSING=0`), with attention in Triton.

    python benchmarks/vllm_engine.py [--eager] [--rounds N] [--mode timeline] [--tensors none]

Each round asks for 32 tokens of a batch of 1, 8 and 32 prompts, recorded and with kvtrace's hooks
taken out, twice, in an order that changes. Printed are the median times without hooks, and medians
of the differences of a round's pairs in per cent, of recorded and of the second bare request, which
is noise.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from training_step import Switch

BATCHES = (1, 8, 32)
TOKENS = 32

MODEL = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 512,
    "intermediate_size": 1024,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "vocab_size": 4096,
    "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "bos_token_id": 1,
    "eos_token_id": 2,
}


def engine(folder: Path, eager: bool) -> Any:
    """Return vLLM's engine with the model, started in this process."""
    os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    os.environ.setdefault("VLLM_USE_FLASHINFER_SAMPLER", "0")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    from vllm import LLM

    (folder / "config.json").write_text(json.dumps(MODEL))
    return LLM(
        model=str(folder),
        load_format="dummy",
        skip_tokenizer_init=True,
        max_model_len=2048,
        enforce_eager=eager,
        gpu_memory_utilization=0.3,
        attention_backend="TRITON_ATTN",
        seed=1,
    )


def request_milliseconds(llm: Any, batch: int, length: int) -> float:
    """Return the milliseconds of one request of `batch` prompts."""
    from vllm import SamplingParams
    from vllm.inputs import TokensPrompt

    ids = [[3 + (7 * i + n) % 4000 for i in range(length)] for n in range(batch)]
    sampling = SamplingParams(
        max_tokens=TOKENS, temperature=0.8, top_p=0.9, seed=3, detokenize=False, ignore_eos=True
    )
    begin = time.perf_counter()
    llm.generate(
        [TokensPrompt(prompt_token_ids=prompt_ids) for prompt_ids in ids], sampling, use_tqdm=False
    )
    return (time.perf_counter() - begin) * 1e3


def main() -> None:
    """Measure, and print one line for each size of batch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--eager", action="store_true", help="no torch.compile, no CUDA graphs")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--mode", choices=("launch", "timeline"), default="launch")
    parser.add_argument("--tensors", choices=("index", "none"), default="index")
    options = parser.parse_args()

    import kvtrace

    with tempfile.TemporaryDirectory() as folder_name:
        folder = Path(folder_name)
        with kvtrace.capture(folder / "out", mode=options.mode, tensors=options.tensors):
            llm = engine(folder, options.eager)
            for batch in BATCHES:
                for _ in range(5):
                    request_milliseconds(llm, batch, 40)
            switch = Switch(options.mode)
            times: dict[tuple[str, int], list[float]] = {}
            kinds = ("recorded", "bare", "bare again")
            for turn in range(options.rounds):
                for kind in kinds if turn % 2 else reversed(kinds):
                    switch.on() if kind == "recorded" else switch.off()
                    for batch in BATCHES:
                        times.setdefault((kind, batch), []).append(
                            request_milliseconds(llm, batch, 40 + turn)
                        )
            switch.on()
        report(times)


def report(times: dict[tuple[str, int], list[float]]) -> None:
    """Print medians of the times without hooks, and the cost of recording in per cent."""
    for batch in BATCHES:
        bare = times["bare", batch]
        middle = statistics.median(bare)
        apart = {
            kind: statistics.median(
                100 * (one - other) / middle
                for one, other in zip(times[kind, batch], bare, strict=True)
            )
            for kind in ("recorded", "bare again")
        }
        print(
            f"{batch:3d} prompts of {TOKENS} tokens: {middle:7.2f} ms; recorded "
            f"{apart['recorded']:+.2f} %, bare again {apart['bare again']:+.2f} %",
            flush=True,
        )


if __name__ == "__main__":
    main()
