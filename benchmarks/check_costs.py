"""Cost of checks in a training step on a GPU: KVTRACE_CHECK=sample:1000, finite, digest.

    python benchmarks/check_costs.py [--steps 150] [--check SETTING …] [--eager] [--json FILE]

Needs a CUDA device. The step is one of GPT-2 small (12 layers of width 768, 12 heads, 50,257 words,
124 million parameters, head and embedding tied; batch 8 of 1,024 tokens; bf16 autocast over fp32
weights, fused AdamW) under torch.compile, or without it (`--eager`, where only cross entropy is a
Triton kernel, by torch.compile of the loss alone).

One recording a setting, `nothing` being one without checks. In it steps are recorded and bare in
turn: before a bare step kvtrace's hooks are taken out, so that whatever else the machine does falls
on both alike. Each step ends with a synchronization; the step after a switch is not counted, nor
are the first 100 of a recording, in which each kernel's first launch is read and kept (`began`:
how many seconds they took more than bare ones). The figure is the mean step, none left out, for
what is kept of one launch in a thousand falls on few steps; the median is shown beside it, and
both for a second bare step, which tells how far two equal ones differ. Last come the launches that
were kept, their bytes, and the rows of digests and of what was not finite.

`least` is a lower bound for any check after a launch: the bytes that launches of a step wrote, as
`digest` saw them, over the rate at which torch sums up 8 GiB on the device.
"""

import argparse
import inspect
import json
import math
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from recorded import check
from training_step import SKIPPED, timed

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = ("nothing", "sample:1000", "finite", "digest")
ITEMS = {"fp64": 8, "i64": 8, "fp32": 4, "i32": 4, "fp16": 2, "bf16": 2, "i8": 1, "i1": 1, "u8": 1}
LAYERS, WIDTH, HEADS, WORDS, TOKENS, BATCH = 12, 768, 12, 50_257, 1024, 8


def plain_run(kernel):  # type: ignore[no-untyped-def]
    """Return a kernel's launcher as Triton's own property `CompiledKernel.run` does."""
    if kernel._run is None:
        kernel._init_handles()
    return kernel._run


def make_step(compiled: bool) -> Callable[[], None]:
    """Return a function that makes one training step of GPT-2 small."""
    import torch
    from torch import nn

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.before, self.after = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            split = self.qkv(self.before(x)).view(BATCH, TOKENS, 3, HEADS, WIDTH // HEADS)
            q, k, v = (projection.transpose(1, 2) for projection in split.unbind(2))
            mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).reshape(BATCH, TOKENS, WIDTH))
            return x + self.down(nn.functional.gelu(self.up(self.after(x)), approximate="tanh"))

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(TOKENS, WIDTH)
            self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
            self.norm = nn.LayerNorm(WIDTH)

        def forward(self, ids: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
            x = self.embedding(ids) + self.places.weight
            for layer in self.layers:
                x = layer(x)
            logits = nn.functional.linear(self.norm(x), self.embedding.weight)
            return loss_of(logits.view(-1, WORDS), targets.view(-1))

    def cross_entropy(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(logits.float(), targets)

    loss_of = cross_entropy if compiled else torch.compile(cross_entropy)
    torch.manual_seed(0)
    model = Model().to("cuda")
    count = sum(parameter.numel() for parameter in model.parameters())
    print(f"{count / 1e6:.1f} million parameters", flush=True)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)
    ids = torch.randint(WORDS, (BATCH, TOKENS), device="cuda")
    targets = ids.roll(-1, 1)
    forward = torch.compile(model) if compiled else model

    def step() -> None:
        with torch.autocast("cuda", torch.bfloat16):
            loss = forward(ids, targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()

    return step


class Switch:
    """Switch that removes the hooks of a running recording (`off`), and puts them back (`on`)."""

    def __init__(self) -> None:
        from torch._inductor.runtime.triton_heuristics import CachingAutotuner
        from triton.compiler.compiler import CompiledKernel
        from triton.runtime.jit import JITFunction

        owners = (JITFunction, CachingAutotuner)
        self.hooked = [(owner, owner.run, inspect.unwrap(owner.run)) for owner in owners]
        self.hooked.append((CompiledKernel, CompiledKernel.run, property(plain_run)))

    def on(self) -> None:
        for owner, ours, _ in self.hooked:
            owner.run = ours

    def off(self) -> None:
        for owner, _, unhooked_run in self.hooked:
            owner.run = unhooked_run


def measure(step: Callable[[], None], steps: int, setting: str) -> dict[str, float]:
    """Return mean and median milliseconds of bare and checked steps, and `checked_counts`."""
    import kvtrace

    times: dict[str, list[float]] = {"bare": [], "bare again": [], "checked": []}
    with tempfile.TemporaryDirectory() as folder:
        with kvtrace.capture(folder, check="" if setting == "nothing" else setting):
            began = sum(timed(step) for _ in range(SKIPPED)) / 1e3
            switch = Switch()
            for _ in range(steps):
                times["checked"].append(timed(step))
                switch.off()
                step()
                times["bare"].append(timed(step))
                times["bare again"].append(timed(step))
                switch.on()
                step()
        check(Path(folder), mode="launch")
        counts = checked_counts(Path(folder))
    figures = {
        f"{name}, mean": statistics.mean(milliseconds) for name, milliseconds in times.items()
    }
    figures |= {
        f"{name}, median": statistics.median(milliseconds) for name, milliseconds in times.items()
    }
    return figures | counts | {"began": began - SKIPPED * figures["bare, median"] / 1e3}


def checked_counts(folder: Path) -> dict[str, float]:
    """Return the numbers of checked launches, rows and bytes; print messages about checks."""
    from kvtrace.schema.trace import open_trace

    trace = open_trace(folder)
    kept_bytes = trace.table("checked_launches", columns=["bytes"])["bytes"].to_pylist()
    for row in trace.table("messages", columns=["code", "text", "count"]).to_pylist():
        if row["code"].startswith("check-"):
            print(f"  {row['code']}, {row['count']} times: {row['text']}")
    counts = {name: trace.table(name).num_rows for name in ("launches", "digests", "non_finite")}
    written = bytes_written(trace) if counts["digests"] else 0.0
    return {**counts, "kept": len(kept_bytes), "kept bytes": sum(kept_bytes), "written": written}


def bytes_written(trace: Any) -> float:
    """Return the bytes that the launches with digests wrote, if their arguments are dense."""
    sizes = {
        (row["call_id"], index): math.prod(argument["shape"]) * ITEMS[argument["dtype"]]
        for row in trace.table("calls", columns=["call_id", "args"]).to_pylist()
        for index, argument in enumerate(row["args"])
        if argument["shape"] is not None
    }
    rows = trace.table("digests", columns=["call_id", "arg", "when"]).to_pylist()
    return float(sum(sizes[r["call_id"], r["arg"]] for r in rows if r["when"] == "after"))


def reading_rate() -> float:
    """Return the rate, in bytes per second, at which torch sums up 8 GiB on the device."""
    import torch

    memory = torch.zeros(2 << 30, device="cuda")
    memory.sum()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(10):
        memory.sum()
    torch.cuda.synchronize()
    return 10 * 4 * memory.numel() / (time.perf_counter() - begin)


def extra_percent(figures: dict[str, float], name: str, of: str) -> float:
    """Return by how many per cent the step `name` is slower than bare, in mean or median (`of`)."""
    return (figures[f"{name}, {of}"] / figures[f"bare, {of}"] - 1) * 100


def main() -> int:
    parser = argparse.ArgumentParser(description="cost of checking launches of a training step")
    parser.add_argument("--steps", type=int, default=150, help="counted steps of each kind")
    parser.add_argument("--check", nargs="+", default=SETTINGS, help="settings to measure")
    parser.add_argument("--eager", action="store_true", help="without torch.compile")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    import torch

    if not torch.cuda.is_available():
        print("check_costs.py needs a CUDA device: it times real training steps")
        return 2
    import triton

    print(
        f"{torch.cuda.get_device_name()}, Python {platform.python_version()}, torch "
        f"{torch.__version__}, triton {triton.__version__}; {options.steps} steps of each kind"
    )
    step = make_step(not options.eager)
    for _ in range(30):
        step()
    measurements = {}
    for setting in options.check:
        figures = measurements[setting] = measure(step, options.steps, setting)
        means, medians = (
            [extra_percent(figures, name, statistic) for name in ("checked", "bare again")]
            for statistic in ("mean", "median")
        )
        print(
            f"{setting:12s} bare {figures['bare, mean']:8.3f} ms: {means[0]:+.2f} % (bare again "
            f"{means[1]:+.2f} %), median {medians[0]:+.2f} % ({medians[1]:+.2f} %); began "
            f"{figures['began']:+.1f} s; {figures['launches']:,} launches, {figures['kept']} kept "
            f"with {figures['kept bytes'] / 2**20:.0f} MiB, {figures['digests']:,} digests, "
            f"{figures['non_finite']:,} not finite",
            flush=True,
        )
    written = measurements.get("digest", {}).get("written")
    if written:
        of_step = written / (SKIPPED + 2 * options.steps)
        seconds = of_step / reading_rate()
        share = seconds * 1e5 / measurements["digest"]["bare, mean"]
        print(f"least: {of_step / 1e9:.2f} GB a step, {seconds * 1e3:.2f} ms: {share:+.1f} %")
    if "nothing" in measurements:
        base = measurements["nothing"]["checked, mean"] / measurements["nothing"]["bare, mean"]
        for setting, figures in measurements.items():
            ratio = figures["checked, mean"] / figures["bare, mean"]
            print(f"{setting:12s} {ratio:.4f} of a bare step, {ratio / base:.4f} of a recorded one")
    if options.json:
        options.json.write_text(json.dumps(measurements, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
