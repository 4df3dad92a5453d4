"""Cost of recording the contents of index tensors on a GPU: a training step, an inference loop.

    python benchmarks/index_contents.py [--steps 500] [--only train|decode] [--json FILE]

Needs a CUDA device and, for the training step, the PyPI package `liger-kernel`.

Train: the step of benchmarks/training_step.py, a GPT of GPT-2 small's size, eager; its cross
entropy kernel reads the targets. Decode: a step of 12 layers, each a product, a kernel that writes
keys and values into pages by a slot mapping, attention over pages by a block table and sequence
lengths (Triton kernels, written here), and a product; the three int32 tensors change in each step.
It is run twice: with 32 sequences of up to 4,096 tokens, where the device is busy, and with 2 of
256, where the processor is, so that its share, and with it the recording's, is largest.

One recording with the setting `tensors=index`. Steps with contents recorded (`on`) and not (`off`:
the launchers are Triton's own, all else is recorded) come in turn; each step ends with a
synchronization. The step after a switch is not counted, nor are the first 400: kernels and calls
are new then. Steps are compared with the `off` step of the same round, as a machine that others
use too changes its pace from second to second. The cost is the mean of these differences, a tenth
at either end left out, over the median `off` step; the median of the differences is shown beside
it, and the same for a second `off` step, which tells how far two equal ones differ.

Contents are recorded ever more seldom the longer a program runs. `on` keeps that away: the waiting
between launches is taken out before each step, so that only the bound on time holds, as in a
program's first minutes; the rows `later` are the steady state, with waiting as it is.
"""

import argparse
import json
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
import triton
import triton.language as tl
from recorded import check

ROOT = Path(__file__).resolve().parent.parent
SKIPPED = 400
LAYERS = 12
HEADS, WIDTH, PAGE = 12, 64, 16


@triton.jit
def write_pages(key, value, pages, slots, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    """Write each token's keys and values to the page and row that its slot number gives."""
    token, part = tl.program_id(0), tl.program_id(1)
    slot = tl.load(slots + token).to(tl.int64)
    at = part * BLOCK + tl.arange(0, BLOCK)
    tl.store(pages + slot * 2 * WIDTH + at, tl.load(key + token * WIDTH + at))
    tl.store(pages + slot * 2 * WIDTH + WIDTH + at, tl.load(value + token * WIDTH + at))


@triton.jit
def attend(
    query, pages, table, lengths, out, stride, scale,
    HEADS: tl.constexpr, WIDTH: tl.constexpr, PAGE: tl.constexpr,
):  # fmt: skip
    """Attention of one token per sequence over all pages in its row of the block table."""
    row, head = tl.program_id(0), tl.program_id(1)
    inner = tl.arange(0, WIDTH)
    at = (row * HEADS + head) * WIDTH + inner
    q = tl.load(query + at).to(tl.float32)
    length = tl.load(lengths + row)
    best, total = float("-inf"), 0.0
    found = tl.zeros([WIDTH], tl.float32)
    for start in range(0, length, PAGE):
        page = tl.load(table + row * stride + start // PAGE).to(tl.int64)
        token = tl.arange(0, PAGE)
        places = ((page * PAGE + token) * 2 * HEADS + head) * WIDTH
        mask = start + token < length
        k = tl.load(pages + places[:, None] + inner[None, :], mask=mask[:, None], other=0.0)
        held = pages + places[:, None] + HEADS * WIDTH + inner[None, :]
        v = tl.load(held, mask=mask[:, None], other=0.0)
        scores = tl.where(mask, tl.sum(k.to(tl.float32) * q[None, :], 1) * scale, float("-inf"))
        fresh = tl.maximum(best, tl.max(scores, 0))
        weights = tl.exp(scores - fresh)
        kept = tl.exp(best - fresh)
        total = total * kept + tl.sum(weights, 0)
        found = found * kept + tl.sum(weights[:, None] * v.to(tl.float32), 0)
        best = fresh
    tl.store(out + at, (found / total).to(out.dtype.element_ty))


def make_decode(sequences: int, tokens: int) -> Callable[[], torch.Tensor]:
    """Return a function that makes one step of decoding, and returns the last layer's result."""
    torch.manual_seed(0)
    like = {"device": "cuda", "dtype": torch.bfloat16}
    width = HEADS * WIDTH
    columns = tokens // PAGE
    count = sequences * columns
    pages = [torch.randn(count * PAGE, 2, width, **like) for _ in range(LAYERS)]
    weights = [torch.randn(width, 3 * width, **like) * 0.02 for _ in range(LAYERS)]
    closing = [torch.randn(width, width, **like) * 0.02 for _ in range(LAYERS)]
    table = torch.zeros(sequences, columns, dtype=torch.int32, device="cuda")
    lengths = torch.zeros(sequences, dtype=torch.int32, device="cuda")
    slots = torch.zeros(sequences, dtype=torch.int32, device="cuda")
    order = [torch.randperm(count, dtype=torch.int32).view(sequences, columns) for _ in range(8)]
    hosts = [tensor.pin_memory() for tensor in order]
    state = {"step": 0}
    start = torch.randn(sequences, width, **like)

    def step() -> torch.Tensor:
        number = state["step"]
        state["step"] += 1
        length = tokens // 2 + number % (tokens // 2)
        table.copy_(hosts[number % len(hosts)], non_blocking=True)
        lengths.fill_(length)
        slots.copy_(table[:, (length - 1) // PAGE] * PAGE + (length - 1) % PAGE)
        x = start
        for layer in range(LAYERS):
            q, k, v = (x @ weights[layer]).split(width, 1)
            q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
            write_pages[(sequences, width // 256)](k, v, pages[layer], slots, width, 256)
            out = torch.empty_like(q)
            attend[(sequences, HEADS)](
                q, pages[layer], table, lengths, out, columns, WIDTH**-0.5, HEADS, WIDTH, PAGE
            )
            x = x + out @ closing[layer]
        torch.cuda.synchronize()
        return x

    return step


def make_train() -> Callable[[], None]:
    """Return a function that makes the eager training step of benchmarks/training_step.py."""
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    import training_step

    return training_step.make_step(training_step.MODELS["gpt2"], False)


class Switch:
    """Switch that turns recording of contents off in a running recording, and on again."""

    def __init__(self) -> None:
        from triton.compiler.compiler import CompiledKernel

        from kvtrace.capture.process_sessions import sessions

        (session,) = (candidate for candidate in sessions if candidate.recording)
        self.owner, self.ours = CompiledKernel, CompiledKernel.run
        (self.contents,) = [session.contents]
        self.plain = property(plain_run)
        self.since: int | None = None
        watching = [c.cell_contents for c in self.ours.fget.__closure__ or ()]
        self.watched = next(w for w in watching if hasattr(w, "_watched"))._watched

    def on(self, waiting: bool) -> None:
        self.owner.run = self.ours
        if self.since is not None:  # the bound counts the time of the steps that it is in force in
            self.contents._begin += time.perf_counter_ns() - self.since
        for watch in [] if waiting else list(self.watched.values()):
            if watch is not None:
                watch.wait, watch._inspected = 0, min(watch._inspected, 1)

    def off(self) -> None:
        self.owner.run = self.plain
        self.since = time.perf_counter_ns()


def plain_run(kernel):  # type: ignore[no-untyped-def]
    """Return a kernel's launcher as Triton's own property `CompiledKernel.run` does."""
    if kernel._run is None:
        kernel._init_handles()
    return kernel._run


def timed(step: Callable[[], object]) -> float:
    """Return the milliseconds of one step."""
    begin = time.perf_counter()
    step()
    return (time.perf_counter() - begin) * 1e3


def measure(step: Callable[[], object], steps: int, waiting: bool) -> dict[str, float]:
    """Return ms per step without contents, extra per cent of other steps, and copies per step."""
    import kvtrace

    times: dict[str, list[float]] = {"on": [], "off": [], "off again": []}
    copies = 0
    with tempfile.TemporaryDirectory() as folder:
        with kvtrace.capture(folder, tensors="index"):
            for _ in range(SKIPPED):
                step()
            switch = Switch()
            for _ in range(steps):
                switch.on(waiting)
                step()
                number_before = next_number(switch.contents)
                times["on"].append(timed(step))
                copies += next_number(switch.contents) - number_before - 1
                switch.off()
                step()
                times["off"].append(timed(step))
                times["off again"].append(timed(step))
            switch.on(True)
        check(Path(folder), native=True, mode="launch")
    figures = {"off": statistics.median(times["off"]), "taken": copies / steps}
    for name in ("on", "off again"):
        pairs = zip(times[name], times["off"], strict=True)
        differences = sorted(
            (milliseconds - off_milliseconds) / figures["off"] * 100
            for milliseconds, off_milliseconds in pairs
        )
        inner = differences[steps // 10 : steps - steps // 10]
        figures[name] = statistics.mean(inner)
        figures[f"{name}, median"] = statistics.median(differences)
    return figures


def next_number(contents) -> int:  # type: ignore[no-untyped-def]
    """Return the number of the next copy of contents; each call uses up one number."""
    return int(contents._session.next_copy())


def main() -> int:
    parser = argparse.ArgumentParser(description="cost of recording index contents on a GPU")
    parser.add_argument("--steps", type=int, default=500, help="counted steps of each kind")
    parser.add_argument("--only", choices=("train", "decode"))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    if not torch.cuda.is_available():
        print("index_contents.py needs a CUDA device: it times real steps")
        return 2
    print(
        f"{torch.cuda.get_device_name()}, Python {platform.python_version()}, torch "
        f"{torch.__version__}, triton {triton.__version__}; {options.steps} steps of each kind"
    )
    makers: dict[str, Callable[[], Callable[[], object]]] = {
        "decode, 32 x 4096": lambda: make_decode(32, 4096),
        "decode, 2 x 256": lambda: make_decode(2, 256),
        "train, GPT-2 small": make_train,
    }
    figures = {}
    for label, make in makers.items():
        if options.only and not label.startswith(options.only):
            continue
        step = make()
        for _ in range(20):
            step()
        for waiting in (False, True):
            found = measure(step, options.steps, waiting)
            name = f"{label}, later" if waiting else label
            figures[name] = found
            print(
                f"{name:28s} off {found['off']:8.3f} ms; on {found['on']:+.2f} % (median "
                f"{found['on, median']:+.2f} %), off again {found['off again']:+.2f} % (median "
                f"{found['off again, median']:+.2f} %); {found['taken']:.2f} copied a step",
                flush=True,
            )
        del step
        torch.cuda.empty_cache()
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
