"""To be run by hand on a machine with an NVIDIA GPU: recordings made together with torch.profiler.

    python tests/gpu/capture_profiled.py OUT [--only eager] [--proton]

Starts one process for each program below, with KVTRACE=OUT/PROGRAM/kvtrace, and writes what
torch.profiler saw of it to OUT/PROGRAM/rank0.pt.trace.json. kvtrace leaves CUPTI to torch.profiler
while that runs, so device times are in the second file and arguments in the first: it is what
`kvtrace import --into` is for. With `--proton`, Triton's own profiler looks at the program "eager"
in place of torch.profiler, and writes its tree and its Chrome trace.

eager     Triton kernels on three streams, Liger's layers in a Llama, forward and backward
compiled  the same Llama, compiled by torch.compile
graphs    the same Llama, compiled with mode="reduce-overhead", and a CUDA graph by hand
ranks     two processes with DistributedDataParallel (needs two GPUs)
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import torch
import triton
import triton.language as tl
from torch.profiler import ProfilerActivity, profile, record_function

PROGRAMS = ("eager", "compiled", "graphs", "ranks")
WARM_UP, STEPS = 3, 3
Step = Callable[[], None]


@triton.jit
def added(x, y, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x + lanes, mask=lanes < n) + tl.load(y + lanes, mask=lanes < n)
    tl.store(out + lanes, total, mask=lanes < n)


@triton.jit
def doubled(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n) * 2, mask=lanes < n)


def llama_step(mode: str | None) -> Step:
    """Return a training step of a small Llama with Liger's kernels, compiled if `mode` says so."""
    from liger_kernel.transformers import apply_liger_kernel_to_llama
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    apply_liger_kernel_to_llama()
    config = LlamaConfig(
        hidden_size=256, intermediate_size=704, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, vocab_size=4000, max_position_embeddings=256, use_cache=False,
    )  # fmt: skip
    model = LlamaForCausalLM(config).to("cuda", torch.bfloat16)
    called = model if mode is None else torch.compile(model, mode=mode)
    optimizer = torch.optim.AdamW(model.parameters(), 3e-4)
    batch = torch.randint(4000, (4, 256), device="cuda")

    def step() -> None:
        with record_function("forward"):
            loss = called(input_ids=batch, labels=batch).loss
        with record_function("backward"):
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def streams_step() -> Step:
    """Return a step that launches two kernels, one of them with two grids, on three streams."""
    n = 1 << 20
    x, y, out = (torch.zeros(n, device="cuda") for _ in range(3))
    side = [torch.cuda.Stream() for _ in range(2)]

    def step() -> None:
        main = torch.cuda.current_stream()
        added[(n // 1024,)](x, y, out, n, BLOCK=1024)
        for part, stream in enumerate(side, 1):
            stream.wait_stream(main)
            with torch.cuda.stream(stream):
                doubled[(n // 2048 // part,)](x, y, n // part, BLOCK=2048)
        for stream in side:
            main.wait_stream(stream)
        out.sin_()
        doubled[(n // 1024,)](out, out, n, BLOCK=1024)

    return step


def graph_step() -> Step:
    """Return a replay of a CUDA graph with launches of both kernels."""
    step = streams_step()
    step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
        step()
    return graph.replay


def steps_of(program: str) -> list[Step]:
    """Return what a step of this program does, in order."""
    if program == "eager":
        return [streams_step(), llama_step(None)]
    if program == "compiled":
        return [llama_step("default")]
    return [graph_step(), llama_step("reduce-overhead")]


def profile_program(program: str, out: Path) -> None:
    """Run a program's steps, the later ones under torch.profiler."""
    steps = steps_of(program)

    def once() -> None:
        torch.compiler.cudagraph_mark_step_begin()
        for step in steps:
            step()

    for _ in range(WARM_UP):
        once()
    torch.cuda.synchronize()
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with profile(activities=activities, record_shapes=True, with_stack=program == "eager") as seen:
        for number in range(STEPS):
            with record_function(f"step {number}"):
                once()
        torch.cuda.synchronize()
    seen.export_chrome_trace(str(out / "rank0.pt.trace.json"))
    for _ in range(2):  # which device times are kvtrace's again
        once()
    torch.cuda.synchronize()


def profile_with_proton(out: Path) -> None:
    """Run the eager program under Triton's profiler: a tree of times, then a Chrome trace."""
    from triton import profiler as proton

    steps = steps_of("eager")
    for data in ("tree", "trace"):
        session = proton.start(str(out / f"proton_{data}"), context="shadow", data=data)
        for number in range(STEPS):
            with proton.scope(f"step {number}"):
                for step in steps:
                    step()
        torch.cuda.synchronize()
        proton.finalize(session)


def profile_rank(out: Path) -> None:
    """Be one of two ranks of tests/gpu/rank_training.py's network, under torch.profiler."""
    import torch.distributed as dist
    from rank_training import Net
    from torch.nn.parallel import DistributedDataParallel

    rank = int(os.environ["RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    model = DistributedDataParallel(Net(512).to("cuda"), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    batch = torch.randn(64, 512, device="cuda")

    def once() -> None:
        model(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    for _ in range(WARM_UP):
        once()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        for _ in range(STEPS):
            once()
        torch.cuda.synchronize()
    seen.export_chrome_trace(str(out / f"rank{rank}.pt.trace.json"))
    dist.destroy_process_group()


def record(program: str, out: Path, proton: bool) -> int:
    """Run a program in a new process, recorded; return its exit status."""
    folder = out / (f"{program}_proton" if proton else program)
    folder.mkdir(parents=True)
    command = [sys.executable]
    if program == "ranks":
        command += ["-m", "torch.distributed.run", "--nproc-per-node", "2"]
    command += [__file__, str(folder), "--inside", program, *(["--proton"] if proton else [])]
    variables = {"KVTRACE": str(folder / "kvtrace"), "KVTRACE_MODE": "timeline"}
    if proton:
        variables["KVTRACE_MODE"] = "launch"
    return subprocess.run(command, env={**os.environ, **variables}, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", choices=PROGRAMS)
    parser.add_argument("--proton", action="store_true")
    parser.add_argument("--inside", choices=PROGRAMS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside == "ranks":
        profile_rank(options.out)
    elif options.inside and options.proton:
        profile_with_proton(options.out)
    elif options.inside:
        profile_program(options.inside, options.out)
    else:
        ready = [program for program in PROGRAMS if options.only in (None, program)]
        if torch.cuda.device_count() < 2 and "ranks" in ready:
            ready.remove("ranks")
        for program in ready:
            status = record(program, options.out, options.proton)
            print(f"{program}: exit status {status}")
            if status:
                return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
