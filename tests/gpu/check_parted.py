"""To be run by hand on a machine with one or two NVIDIA GPUs: origins that `kvtrace diff` names.

    python tests/gpu/check_parted.py [--device cuda|cpu] [--jobs 6] [PLANT …]

Records a small training program and twins of it with one difference each, runs `kvtrace diff` on
both (`kvtrace check` for two ranks), and prints what is named as the origin: right, a symptom, or
unknown; of identical twins that nothing differs. Ends with 1 unless ten origins are right, none is
a symptom and identical twins are equal. `--device cpu` tries it without a GPU: launches are
evaluated then. `tests/addons/check/test_diff_results_origins.py` runs the same plants.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from kvtrace.addons.check.checked_runs import check_runs  # noqa: E402
from kvtrace.converters.diff import compare  # noqa: E402
from kvtrace.schema.trace import resolve  # noqa: E402
from tests.gpu.check_ranks import environment  # noqa: E402

#: Four steps: a batch times weights is dropped out, its gradient, scaled by a sum, is reduced over
#: ranks, and the weights are updated.
PROGRAM = """
import os, torch, triton, triton.language as tl
import torch.distributed as dist

rank, ranks = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
torch.cuda.set_device(rank % torch.cuda.device_count())
torch.set_default_device("cuda")
torch.manual_seed(1)
ROWS, WIDTH, COLUMNS, PARTS = 32, 4096, 32, 4
N = ROWS * COLUMNS


@triton.jit
def dropped_out(x, out, n, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.rand(seed, at) > 0.5
    tl.store(out + at, tl.where(keep, tl.load(x + at, mask=at < n) * 2, 0.0), mask=at < n)


@triton.jit
def split(x, carry, parts, n, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    total, begin = tl.zeros((BLOCK,), tl.float32), tl.program_id(0) * (n // PARTS)
    for offset in range(0, n // PARTS, BLOCK):
        at = begin + offset + tl.arange(0, BLOCK)
        total += tl.load(x + at) + tl.load(carry + at)
    tl.store(parts + tl.program_id(0), tl.sum(total, axis=0))


@triton.jit
def summed(x, total, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(total, tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0))


@triton.jit
def scaled(x, total, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * tl.load(total), mask=at < n)


@triton.jit
def updated(w, g, m, rate, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    momentum = tl.load(m + at, mask=at < n).to(tl.float32) * 0.9 + tl.load(g + at, mask=at < n)
    tl.store(m + at, momentum, mask=at < n)
    tl.store(w + at, tl.load(w + at, mask=at < n) - momentum * rate / 8, mask=at < n)


batches = torch.randn(4, ROWS, WIDTH) / 64
x, w = torch.zeros(ROWS, WIDTH), torch.full((WIDTH, COLUMNS), 0.3)
out, gradient = torch.zeros(ROWS, COLUMNS), torch.zeros(ROWS, COLUMNS)
m = torch.zeros(WIDTH, COLUMNS, dtype=torch.float32)
carry = torch.zeros(N)
if ranks > 1:
    store = "file://" + os.path.abspath("store")
    is_alone = torch.cuda.device_count() > 1 or "KVTRACE_DEVICE" in os.environ
    dist.init_process_group("nccl" if is_alone else "gloo", store, rank=rank, world_size=ranks)
for step in range(4):
    x.copy_(batches[(step + rank) % 4])
    x.mul_(2)
    hidden = x @ w
    dropped_out[(4,)](hidden, out, N, step, BLOCK=256)
    parts = torch.zeros(PARTS)
    split[(PARTS,)](out, carry, parts, N, PARTS=PARTS, BLOCK=64)
    scaled[(4,)](out, parts.sum(), gradient, N, BLOCK=256)
    g = x.t() @ gradient
    if ranks > 1:
        dist.all_reduce(g)
    updated[(128,)](w, g, m, 0.125, WIDTH * COLUMNS, BLOCK=1024)
torch.cuda.synchronize()
if ranks > 1:
    dist.destroy_process_group()
"""

_JOB = ("WORLD_SIZE", "LOCAL_WORLD_SIZE", "RANK", "LOCAL_RANK")
CHECK = "digest,kernel:[su]*"
#: What a sentence has that names no cause.
_UNKNOWN = "its inputs are not known|the host, a copy or a kernel of a library changed"
#: Parts of the program, and what takes their place.
Edits = tuple[tuple[str, str], ...]


class Plant(NamedTuple):
    """A difference: `origin` is a pattern of the sentence that names it, "" if there is none.

    Of several twins the first counts that has other results on this device; `both` sides are
    edited by `both`.
    """

    origin: str
    twins: tuple[Edits, ...] = ((),)
    both: Edits = ()
    ranks: int = 1


#: Another last bit of what one evaluated launch leaves, as another order of atomics may.
_OTHER_BIT = """
if "KVTRACE_DEVICE" in os.environ:
    from kvtrace.backends.triton import evaluating_launcher

    evaluate, seen = evaluating_launcher.evaluate, []

    def changed(module, arguments, grid, **given):
        evaluate(module, arguments, grid, **given)
        seen.extend([1] * (given.get("kernel") == "KERNEL"))
        if given.get("kernel") == "KERNEL" and len(seen) == LAUNCH:
            next(a for a in arguments if a.name in ("out", "total")).storage.data[0] ^= 1

    evaluating_launcher.evaluate = changed
"""
_LIBRARY = "import os; os.environ['TORCH_BLAS_PREFER_CUBLASLT'] = '1'; "
#: Memory that the program reads and has not written; a former tensor left something there.
EMPTY = """JUNK = 64
junk = torch.full((N,), float(JUNK))
del junk
carry = torch.empty(N)
if "KVTRACE_DEVICE" in os.environ:
    __import__("ctypes").memset(carry.data_ptr(), JUNK, 4 * N)
"""
_STEPS = "for step in range(4):"


def other_bit(kernel: str, launch: int) -> Edits:
    """Return edits after which a launch leaves another last bit, if launches are evaluated."""
    text = _OTHER_BIT.replace("KERNEL", kernel).replace("LAUNCH", str(launch))
    return ((_STEPS, f"{text}{_STEPS}"),)


_FIRST = "launch {} of {} is the first with another result"
PLANTS = {
    "gemm": Plant(
        r"library ran another kernel|computed by aten::(add|zeros) at|computed x \(aten::matmul at",
        ((("import os, torch", f"{_LIBRARY}import torch"),),
         (("x, w = torch.zeros(ROWS, WIDTH)", "x, w = torch.zeros(WIDTH, ROWS).t()"),),
         (("= x @ w", "= x[:, :2048] @ w[:2048] + x[:, 2048:] @ w[2048:]"),)),
    ),
    "tf32": Plant(
        r"library ran another kernel|computed x \(aten::matmul at",
        ((("torch.manual", "torch.set_float32_matmul_precision('high')\ntorch.manual"),),),
    ),
    "dropout": Plant(
        _FIRST.format(3, "dropped_out") + r".*argument seed is 3, was 2",
        ((("N, step,", "N, step + step // 2,"),),),
    ),
    "kernel": Plant(
        _FIRST.format(1, "updated") + r".*its code was changed \(source\); its inputs were equal",
        ((("rate / 8", "rate / 4"),),),
    ),
    "atomics": Plant(
        _FIRST.format(r"\d", "summed") + r".*inputs were equal.*the kernel is not deterministic"
        r".*atomic_rmw at \S+ adds floats of several programs",
        ((), other_bit("summed", 2)),
        (("split[(PARTS,)](out, carry, parts, N, PARTS=PARTS, BLOCK=64)",
          "summed[(4096,)](batches, parts, batches.numel(), BLOCK=128)"),),
    ),
    "sample": Plant(
        _FIRST.format(2, "dropped_out") + r".*aten::copy_ at \S+, whose src has offset_bytes",
        ((("(step + rank) % 4", "(0, 2, 1, 3)[(step + rank) % 4]"),),),
    ),
    "uninitialized": Plant(
        r"wrote carry since aten::empty at \S+ made it: uninitialized memory",
        ((("JUNK = 64", "JUNK = 65"),),), (("carry = torch.zeros(N)\n", EMPTY),),
    ),
    "all-reduce": Plant(
        "other bytes in g given to launch 3 of updated .*"
        r"g was computed by c10d::allreduce_ at \S+ only on rank 0;",
        ((("all_reduce(g)", "all_reduce(g.clone() if (rank, step) == (1, 2) else g)"),),), ranks=2,
    ),
    "state": Plant(
        "of updated cannot be compared .*argument m has dtype bf16, before fp32",
        ((("dtype=torch.float32", "dtype=torch.bfloat16"),),),
    ),
    "split": Plant(r"PARTS 4 → 8", ((("32, 4\nN", "32, 8\nN"),),)),
    "rate": Plant(
        _FIRST.format(3, "updated") + ".*argument rate is 0.25, was 0.125",
        ((("0.125,", "0.25 if step == 2 else 0.125,"),),),
    ),
    "fill": Plant(r"its input x differed already.*aten::full at", ((("0.3)", "0.31)"),),)),
    "identical": Plant(""),
    "ranks": Plant("", ranks=2),
}  # fmt: skip


def text_of(edits: Edits) -> str:
    """Return the program with its edits, each of which must apply."""
    text = PROGRAM
    for old, new in edits:
        if old not in text:
            raise ValueError(f"the program has no {old!r}")
        text = text.replace(old, new)
    return text


def settings(out: Path, device: str) -> dict[str, str]:
    """Return what a user sets to have results compared."""
    chosen = {"KVTRACE": str(out), "KVTRACE_CHECK": CHECK, "KVTRACE_MEMORY": "on"}
    absent = {"KVTRACE_DEVICE": "cpu", "KVTRACE_COMPILE": "ttir", "OMP_NUM_THREADS": "1"}
    return chosen | (absent if device == "cpu" else {"KVTRACE_MODE": "timeline"})


def recorded(out: Path, edits: Edits, device: str, ranks: int = 1) -> Path:
    """Record the program, always from a file of the same name."""
    (out.parent / "train.py").write_text(text_of(edits))
    variables = environment(out, device) | settings(out, device)
    processes = []
    for rank in range(ranks):
        if ranks > 1:
            variables |= dict(zip(_JOB, map(str, (ranks, ranks, rank, rank)), strict=True))
        command = [sys.executable, "train.py"]
        processes.append(subprocess.Popen(command, cwd=out.parent, env=variables))
    codes = [process.wait(timeout=200) for process in processes]
    if any(codes):
        raise RuntimeError(f"{out.parent} ended with {codes}")
    return out


def told(plant: Plant, base: Path, twins: Sequence[Path]) -> str:
    """Return what is said of the first twin with other results, "" if none has."""
    if plant.ranks > 1:
        ranks = check_runs(resolve(str(twins[0]))).ranks
        return "ranks are not compared" if ranks is None else ranks.first
    for twin in twins:
        results = compare(resolve(str(base)), resolve(str(twin)), meaning=0).results
        if results is None or not results.compared:
            return "nothing was compared"
        if results.first is not None:
            return results.first.why.replace(f"{twin.parent}/", "")
    return ""


def verdict(plant: Plant, why: str) -> str:
    """Return right, symptom or unknown for a sentence on an origin; "none" if nothing differs."""
    if not why:
        return "none" if plant.origin else "right"
    if plant.origin and re.search(plant.origin, why):
        return "right"
    return "unknown" if re.search(_UNKNOWN, why) else "symptom"


def main() -> int:
    """Record and compare all, print a line for each plant, and say whether enough are right."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("names", nargs="*", metavar="PLANT", help=", ".join(PLANTS))
    options.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    options.add_argument("--jobs", type=int, default=6)
    chosen = options.parse_args()
    plants = {name: PLANTS[name] for name in chosen.names or PLANTS}
    verdicts, pool = dict[str, str](), ThreadPoolExecutor(chosen.jobs)
    with tempfile.TemporaryDirectory(prefix="kvtrace-check-") as folder, pool:

        @cache
        def record(number: int, edits: Edits, ranks: int) -> Future[Path]:
            out = Path(tempfile.mkdtemp(dir=folder), "out")
            return pool.submit(recorded, out, edits, chosen.device, ranks)

        sides = {
            name: [
                record(number, (*plant.both, *edits), plant.ranks if number else 1)
                for number, edits in enumerate(((), *plant.twins))
            ]
            for name, plant in plants.items()
        }
        for name, plant in plants.items():
            base, *twins = (side.result() for side in sides[name])
            why = told(plant, base, twins)
            verdicts[name] = verdict(plant, why)
            print(f"{name}: {verdicts[name]}: {why or 'no difference'}", flush=True)
    planted = [verdicts[name] for name, plant in plants.items() if plant.origin]
    nulls = [verdicts[name] for name, plant in plants.items() if not plant.origin]
    counts = ", ".join(f"{count} {word}" for word, count in Counter(planted).most_common())
    print(f"of {len(planted)} origins: {counts}")
    enough = planted.count("right") >= len(planted) * 10 / 12 and "symptom" not in planted
    return int(not enough or not set(nulls) <= {"right"})


if __name__ == "__main__":
    sys.exit(main())
