"""To be run by hand on a machine with a GPU: the corpus of defects under compute-sanitizer.

    python tests/gpu/check_sanitizer.py [--only WORDS] [--jobs N] [--device cuda|cpu] [--json FILE]

Each sample of corpus/defects that has a defect which compute-sanitizer's memcheck can see
(an access outside its storage, a null or misaligned pointer) runs on the GPU in a process of its
own under memcheck. Samples without a defect run many to a process, and memcheck must report nothing
of them; nor of those whose only defect it cannot see (a race, an overflow that stays inside).
Tensors are allocations of their own, of exactly their size: PyTorch's cache is off. An access that
hits another allocation is no error to memcheck: then it is silent where kvtrace is not, which is
told and does not count as a failure.

Then the kernels of benchmarks/sanitizer.py are launched there, plain and under memcheck, beside the
time that kvtrace takes to judge a unique call of the same kernel on the same machine's processor.

Ends with 1 if memcheck reports what kvtrace has proven safe, or anything failed.

`--device cpu` needs no GPU and no compute-sanitizer: launches go through kvtrace's driver, to try
this program.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch
import triton

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from corpus.questions.defects import Expected, Sample, Tensor  # noqa: E402
from kvtrace.evaluate.types import element_of_short_name  # noqa: E402
from kvtrace.verdicts.judge import judge  # noqa: E402
from tests.support.defects import CORPUS  # noqa: E402

SEEN_BY_MEMCHECK = {"out-of-bounds", "null-pointer", "misaligned"}
ENDS_THE_PROGRAM = {"device-assert", "descriptor-contract"}
NOT_ON_HOPPER = {"tt.descriptor_gather", "tt.descriptor_scatter"}
REPORTED = 86
MOST_BYTES = 24 << 30
SECONDS = 500
DTYPES = {
    "fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16, "i8": torch.int8,
    "u8": torch.uint8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
}  # fmt: skip


def runnable(sample: Sample) -> bool:
    """Return whether a launch of torch tensors can be what the label describes."""
    tensors = [value for value in sample.arguments.values() if isinstance(value, Tensor)]
    size = sum(storage.nbytes for storage in sample._storages().values())
    return (
        not sample.unknowns
        and not sample.divisible
        and not sample.wide
        and not any(op.name in NOT_ON_HOPPER for op in sample.module().ops)
        and not any(tensor.odd_bytes for tensor in tensors)
        and not ENDS_THE_PROGRAM & {expected.rule for expected in sample.violations}
        and size <= MOST_BYTES
        and sample.programs < 2**24
        and max((*sample.grid[1:], 1)) < 2**16
    )


def follows(sample: Sample) -> tuple[Expected, ...]:
    return *sample.follows, *sample.doubtful


def visible(sample: Sample) -> bool:
    rules = {expected.rule for expected in (*sample.violations, *follows(sample))}
    return bool(SEEN_BY_MEMCHECK & rules)


# -- in the process that launches ---------------------------------------------------------------


def launch(sample: Sample, device: str) -> None:
    """Launch a sample once, on tensors that are allocations of their own."""
    memory = {
        name: torch.zeros(storage.nbytes, dtype=torch.uint8, device=device)
        if storage.data is None
        else torch.from_numpy(storage.data).to(device)
        for name, storage in sample._storages().items()
    }
    given: dict[str, Any] = {}
    for name, value in sample.arguments.items():
        if not isinstance(value, Tensor):
            given[name] = value
            continue
        bytes_ = memory[value.shares or name]
        size = element_of_short_name(value.dtype).bytes
        whole = bytes_.numel() // size * size
        given[name] = bytes_[:whole].view(DTYPES[value.dtype])[value.offset :]
    sample.kernel[sample.grid](**given, **sample.constexprs)
    if device != "cpu":
        torch.cuda.synchronize()


def child_launch(names: list[str], device: str) -> None:
    """Launch samples, one after the other."""
    triton.set_allocator(  # for descriptors that kernels make
        lambda size, _alignment, _stream: torch.empty(size, dtype=torch.int8, device=device)
    )
    by_name = {sample.name: sample for sample in CORPUS}
    for name in names:
        launch(by_name[name], device)


def child_time(name: str, device: str) -> None:
    """Print the median milliseconds of a launch of a benchmark's kernel, synchronized."""
    from sanitizer_kernels import cases

    case = cases()[name]
    arguments = {
        key: value.to(device) if isinstance(value, torch.Tensor) else value
        for key, value in case.arguments().items()
    }
    walls = []
    for _ in range(11):
        began = time.perf_counter()
        case.launch(case.kernel, arguments)
        if device != "cpu":
            torch.cuda.synchronize()
        walls.append(time.perf_counter() - began)
    print(json.dumps({"milliseconds": 1e3 * statistics.median(walls[1:])}))


# -- in the process that asks -------------------------------------------------------------------


class Runs:
    """Starts this program again, under memcheck or not."""

    def __init__(self, device: str) -> None:
        self.device = device
        found = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
        if device != "cpu" and not Path(found).exists():
            raise SystemExit("compute-sanitizer was not found: it comes with the CUDA toolkit")
        self.memcheck = [found, "--tool", "memcheck", "--error-exitcode", str(REPORTED)]

    def __call__(self, *words: str, checked: bool = True) -> subprocess.CompletedProcess[str]:
        before = self.memcheck if checked and self.device != "cpu" else []
        command = [*before, sys.executable, __file__, "--device", self.device, *words]
        variables = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"} if checked else {}
        return subprocess.run(
            command, env=os.environ | variables, cwd=ROOT, capture_output=True, text=True,
            timeout=SECONDS, check=False,
        )  # fmt: skip


def violations(sample: Sample) -> set[str]:
    return {v.rule for v in judge(sample.call()) if v.verdict == "violation"}


def check_corpus(runs: Runs, samples: list[Sample], jobs: int) -> tuple[list[str], Counter[str]]:
    """Run the samples; give what is wrong, and the counts of what was said."""
    wrong: list[str] = []
    counts: Counter[str] = Counter()
    defects = [sample for sample in samples if visible(sample)]
    clean = [sample for sample in samples if not visible(sample)]
    with ThreadPoolExecutor(jobs) as pool:
        ended = pool.map(lambda sample: runs("--launch", sample.name), defects)
        for sample, done in zip(defects, ended, strict=True):
            reported = done.returncode == REPORTED or "Invalid __global__" in done.stdout
            ours = bool(SEEN_BY_MEMCHECK & violations(sample))
            said = "reported" if reported else "silent"
            counts[f"with a defect: memcheck {said}, kvtrace {'finds it' if ours else 'not'}"] += 1
            if reported != ours:
                print(f"  {sample.name}: memcheck {said}, kvtrace {'found' if ours else 'did not'}")
            if reported and not ours and not follows(sample):
                wrong.append(f"{sample.name}: memcheck reports what kvtrace does not find")
            if not reported and done.returncode not in (0, REPORTED):
                wrong.append(f"{sample.name}: {last_line(done)}")
    counts["without one that memcheck can see"] = len(clean)
    parts = [clean[first::jobs] for first in range(jobs) if clean[first::jobs]]
    with ThreadPoolExecutor(jobs) as pool:
        ended = pool.map(lambda part: runs("--launch", *(s.name for s in part)), parts)
        failed = [part for part, done in zip(parts, ended, strict=True) if done.returncode]
    for sample in (sample for part in failed for sample in part):  # which of them was it?
        alone = runs("--launch", sample.name)
        if alone.returncode:
            wrong.append(f"{sample.name}: not clean: {last_line(alone)}")
    return wrong, counts


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    reports = [line for line in done.stdout.splitlines() if "Invalid" in line or "Error" in line]
    lines = reports or (done.stdout + done.stderr).strip().splitlines() or [""]
    return f"exit code {done.returncode}: {lines[0 if reports else -1][:200]}"


def check_times(runs: Runs) -> list[dict[str, Any]]:
    """Time launches plain, under memcheck, and judging; the whole process too."""
    from evaluator_ours import median_of
    from sanitizer_kernels import cases
    from sanitizer_ours import Calls, parse, ttir_of

    rows = []
    for name, case in cases().items():
        row: dict[str, Any] = {"kernel": name}
        for label, checked in (("plain", False), ("memcheck", True)):
            began = time.perf_counter()
            done = runs("--time", name, checked=checked)
            row[f"{label} process s"] = time.perf_counter() - began
            answers = [line for line in done.stdout.splitlines() if line.startswith("{")]
            row[f"{label} ms"] = json.loads(answers[-1])["milliseconds"] if answers else None
            if not answers:
                row[f"{label} failed"] = last_line(done)
        calls, module = Calls(case), parse(ttir_of(case))
        judge(calls.next(module))
        judged = median_of(judge, 0.5, prepare=lambda c=calls, m=module: c.next(m))
        row["judge ms"] = 1e3 * judged["wall"]
        rows.append(row)
    return rows


def print_times(rows: list[dict[str, Any]]) -> None:
    print("\n| kernel | launch ms | under memcheck ms | whole process s | under memcheck s "
          "| kvtrace judges ms |")  # fmt: skip
    print("|---|---:|---:|---:|---:|---:|")
    for row in rows:
        cells = [
            row["plain ms"], row["memcheck ms"], row["plain process s"],
            row["memcheck process s"], row["judge ms"],
        ]  # fmt: skip
        shown = ["failed" if cell is None else f"{cell:,.3f}" for cell in cells]
        print(f"| {row['kernel']} | " + " | ".join(shown) + " |")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--only", default="", help="samples whose name contains this text")
    options.add_argument("--jobs", type=int, default=8, help="processes at once")
    options.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    options.add_argument("--json", type=Path)
    options.add_argument("--launch", nargs="+", default=[], help=argparse.SUPPRESS)
    options.add_argument("--time", default="", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.device == "cpu":
        from triton.runtime import driver

        from kvtrace.backends.triton.free_driver import DeviceFreeDriver

        driver.set_active(DeviceFreeDriver("cuda:90"))
    if chosen.launch:
        child_launch(chosen.launch, chosen.device)
        return
    if chosen.time:
        child_time(chosen.time, chosen.device)
        return
    runs = Runs(chosen.device)
    samples = [sample for sample in CORPUS if runnable(sample) and chosen.only in sample.name]
    began = time.perf_counter()
    wrong, counts = check_corpus(runs, samples, chosen.jobs)
    print(f"{len(samples)} of {len(CORPUS)} samples in {time.perf_counter() - began:.0f} s")
    for what, number in counts.items():
        print(f"  {what}: {number}")
    rows = check_times(runs)
    print_times(rows)
    if chosen.json:
        chosen.json.write_text(json.dumps({"counts": counts, "times": rows, "wrong": wrong}))
    agreed = "tried without memcheck" if chosen.device == "cpu" else "nothing is wrong"
    print("\n".join(wrong) or agreed)
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
