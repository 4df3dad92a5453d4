"""Cost of recording a training step on a GPU, and bytes of a launch on disk.

    python benchmarks/training_step.py [--model gpt2|tiny|both] [--compile no|yes|both]
        [--mode launch|timeline|both] [--steps 200] [--json FILE]

Needs a CUDA device and the PyPI package `liger-kernel`. The training step is that of a GPT of
GPT-2 small's size (12 layers of width 768, 12 heads, 1,024 tokens, batch 8, 50,257 words, bf16
weights, AdamW) with Liger's RMSNorm, rotary embedding, SwiGLU and cross entropy, eager and under
torch.compile. `tiny` is the same with 6 layers of width 512, 8 heads and 32,000 words: too little
work for the device, so that the processor's share, and with it the recording's, is largest.

In one recording a mode, steps are recorded and bare in turn: before a bare step kvtrace's hooks are
taken out, and CUPTI's kernel records switched off, so that whatever else the machine does falls on
both alike; the step after a switch is not counted, and a second bare step tells how far two equal
ones differ. Each step ends with a synchronization; the first 100 steps of a recording are not
counted, since kernels and calls are new then. The figure is the median step, and the cost the ratio
of the medians. `before` are steps before anything was ever recorded in the process. Bytes are those
of the tables `launches` and `gpu_kernels` of a recording of 300 steps, over its launches.
"""

import argparse
import inspect
import json
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from recorded import check

ROOT = Path(__file__).resolve().parent.parent
SKIPPED = 100
MODES = ("launch", "timeline")


@dataclass(frozen=True)
class Size:
    """Sizes of a model: layers, width, heads and vocabulary."""

    layers: int
    width: int
    heads: int
    words: int


MODELS = {"gpt2": Size(12, 768, 12, 50_257), "tiny": Size(6, 512, 8, 32_000)}


def make_step(size: Size, compiled: bool) -> Callable[[], None]:
    """Return a function that makes one training step of the model."""
    import torch
    from liger_kernel.ops.rope import LigerRopeFunction
    from liger_kernel.transformers import LigerCrossEntropyLoss, LigerRMSNorm
    from liger_kernel.transformers.functional import liger_swiglu
    from torch import nn

    width, heads, vocabulary = size.width, size.heads, size.words
    tokens, batch = 1024, 8
    like = {"device": "cuda", "dtype": torch.bfloat16}

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.before, self.after = LigerRMSNorm(width), LigerRMSNorm(width)
            self.qkv = nn.Linear(width, 3 * width, bias=False)
            self.out = nn.Linear(width, width, bias=False)
            self.gate, self.up = (nn.Linear(width, 4 * width, bias=False) for _ in range(2))
            self.down = nn.Linear(4 * width, width, bias=False)

        def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
            split = self.qkv(self.before(x)).view(batch, tokens, 3, heads, width // heads)
            q, k, v = (part.transpose(1, 2) for part in split.unbind(2))
            q, k = LigerRopeFunction.apply(q, k, cos, sin)
            mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).reshape(batch, tokens, width))
            y = self.after(x)
            return x + self.down(liger_swiglu(self.gate(y), self.up(y)))

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(vocabulary, width)
            self.layers = nn.ModuleList(Layer() for _ in range(size.layers))
            self.norm = LigerRMSNorm(width)
            self.head = nn.Linear(width, vocabulary, bias=False)
            self.loss = LigerCrossEntropyLoss()

        def forward(self, ids: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
            x = self.embedding(ids)
            for layer in self.layers:
                x = layer(x, cos, sin)
            return self.loss(self.head(self.norm(x)).view(-1, vocabulary), targets.view(-1))

    angles = torch.arange(tokens, device="cuda")[:, None] / 10_000 ** (
        torch.arange(0, width // heads, 2, device="cuda") / (width // heads)
    )
    cos, sin = (f(torch.cat([angles, angles], -1))[None].to(**like) for f in (torch.cos, torch.sin))
    torch.manual_seed(0)
    model = Model().to(**like)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)
    ids = torch.randint(vocabulary, (batch, tokens), device="cuda")
    targets = ids.roll(-1, 1)
    forward = torch.compile(model) if compiled else model

    def step() -> None:
        loss = forward(ids, targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()

    return step


class Switch:
    """Switch that removes the hooks of a running recording (`off`), and puts them back (`on`)."""

    def __init__(self, mode: str) -> None:
        from torch._inductor.runtime.triton_heuristics import CachingAutotuner
        from triton.runtime.jit import JITFunction

        self.hooked = [(owner, owner.run) for owner in (JITFunction, CachingAutotuner)]
        self.cupti = None
        if mode == "timeline":
            from kvtrace.backends.cupti.records import KINDS
            from kvtrace.capture.process_sessions import sessions

            (session,) = (candidate for candidate in sessions if candidate.recording)
            self.cupti, self.kinds = session._journal.listeners[0]._cupti, KINDS

    def on(self) -> None:
        for owner, run in self.hooked:
            owner.run = run
        if self.cupti is not None:
            for kind in self.kinds:
                self.cupti._check("cuptiActivityEnable", kind)

    def off(self) -> None:
        for owner, run in self.hooked:
            owner.run = inspect.unwrap(run)
        if self.cupti is not None:
            for kind in self.kinds:
                self.cupti._check("cuptiActivityDisable", kind)


def timed(step: Callable[[], None]) -> float:
    """Return the milliseconds of one step."""
    begin = time.perf_counter()
    step()
    return (time.perf_counter() - begin) * 1e3


def measure(step: Callable[[], None], steps: int, folder: Path, mode: str) -> dict[str, float]:
    """Return the median milliseconds of bare and of recorded steps, which take turns."""
    import kvtrace

    times: dict[str, list[float]] = {"bare": [], "bare again": [], mode: []}
    with kvtrace.capture(folder, mode=mode):
        for _ in range(SKIPPED):
            step()
        switch = Switch(mode)
        for _ in range(steps):
            times[mode].append(timed(step))
            switch.off()
            step()
            times["bare"].append(timed(step))
            times["bare again"].append(timed(step))
            switch.on()
            step()
    check(folder, mode="launch")  # of bare steps the device tells nothing
    return {name: statistics.median(milliseconds) for name, milliseconds in times.items()}


@dataclass(frozen=True)
class RecordingFigures:
    """Figures of a recording: launches per step, and bytes per launch."""

    launches_a_step: float
    bytes_a_launch: float


def recorded(step: Callable[[], None], steps: int, folder: Path, mode: str) -> RecordingFigures:
    """Return the launches per step and bytes per launch of one recording of `steps` steps."""
    import kvtrace
    from kvtrace.schema.trace import open_trace

    with kvtrace.capture(folder, mode=mode):
        for _ in range(steps):
            step()
    check(folder, mode=mode)
    launches = open_trace(folder).table("launches").num_rows
    files = [p for t in ("launches", "gpu_kernels") for p in (folder / t).rglob("*.parquet")]
    return RecordingFigures(launches / steps, sum(path.stat().st_size for path in files) / launches)


def report(
    label: str, step: Callable[[], None], modes: Sequence[str], steps: int
) -> dict[str, dict[str, float]]:
    """Print and return the figures of one model, a mode at a time."""
    for _ in range(30):
        step()
    before_ms = statistics.median(timed(step) for _ in range(steps))
    print(f"{label:20s}{'before':10s}{before_ms:9.3f} ms", flush=True)
    figures = {}
    for mode in modes:
        with tempfile.TemporaryDirectory() as folder:
            found = measure(step, steps, Path(folder) / "steps", mode)
            content = recorded(step, 300, Path(folder) / "bytes", mode)
        figures[mode] = {**found, "before": before_ms, **asdict(content)}
        over, again = ((found[name] / found["bare"] - 1) * 100 for name in (mode, "bare again"))
        a_launch = (found[mode] - found["bare"]) * 1e3 / content.launches_a_step
        print(
            f"{label:20s}{mode:10s}{found[mode]:9.3f} ms, bare {found['bare']:9.3f} ms: "
            f"{over:+.2f} % (bare again {again:+.2f} %); {content.launches_a_step:.1f} launches a "
            f"step, {a_launch:+.2f} µs and {content.bytes_a_launch:.1f} bytes each",
            flush=True,
        )
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description="cost of recording a training step on a GPU")
    parser.add_argument("--model", choices=(*MODELS, "both"), default="gpt2")
    parser.add_argument("--compile", choices=("no", "yes", "both"), default="both")
    parser.add_argument("--mode", choices=(*MODES, "both"), default="both")
    parser.add_argument("--steps", type=int, default=200, help="counted steps in each mode")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    import torch

    if not torch.cuda.is_available():
        print("training_step.py needs a CUDA device: it times real training steps")
        return 2
    import triton

    print(
        f"{torch.cuda.get_device_name()}, Python {platform.python_version()}, torch "
        f"{torch.__version__}, triton {triton.__version__}; at least {options.steps} steps a mode"
    )
    models = list(MODELS) if options.model == "both" else [options.model]
    modes = MODES if options.mode == "both" else (options.mode,)
    kinds = {"no": (False,), "yes": (True,), "both": (False, True)}[options.compile]
    figures = {}
    for model in models:
        for compiled in kinds:
            label = f"{model} {'torch.compile' if compiled else 'eager'}"
            begin = time.monotonic()
            step = make_step(MODELS[model], compiled)
            figures[label] = report(label, step, modes, options.steps)
            print(f"{label:20s}took {time.monotonic() - begin:.0f} s in all", flush=True)
            del step
            torch._dynamo.reset()  # or the next model's sizes would be taken to be dynamic
            torch.cuda.empty_cache()
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
