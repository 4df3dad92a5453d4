"""Do public kernels' results on a GPU stay within derived bounds? By seeds, in many processes.

    python tests/gpu/check_public_tolerances.py OUT.json --seeds 10000 --limit 400 --workers 15

The cases are those of benchmarks/tolerances.py: kernels of FLA, Liger, vLLM and the operations in
Triton's tutorials, where the packages are there (KVTRACE_PUBLIC_FLA and KVTRACE_PUBLIC_VLLM name
the folders of those that are not installed). Each seed is one launch on the GPU, on inputs of that
seed, and one derivation for just these inputs, in the evaluator: every worker has a partner on the
GPU, and sees none itself. All cases get their seeds in turn until there are enough, or the time is
up; how many each has had is counted, and written down.

It ends with 1 if a right kernel leaves its bounds, or a case fails. `--stand-in` runs the partners
in the evaluator, too: a check of this program, not of a device.
"""

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
import traceback
from contextlib import nullcontext
from multiprocessing.connection import Connection
from pathlib import Path
from queue import Empty
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
import torch

#: Seeds of a case that a worker does before it takes the next case.
BLOCK = 10
_spawning = multiprocessing.get_context("spawn")


class Loading:
    """The cases, with their modules loaded when they are first wanted."""

    def __init__(self, folder: Path, part: str) -> None:
        from benchmarks.tolerances import chosen_cases

        self.cases = chosen_cases(part)
        self._folder = folder
        self._modules: dict[str, Any] = {}

    def module(self, at: int) -> Any:
        from benchmarks.tolerance_cases import loaded

        file = self.cases[at].file
        if file not in self._modules:
            self._modules[file] = loaded(file, self._folder)
        return self._modules[file]


def evaluating(folder: Path) -> Any:
    """Have launches run in the evaluator inside."""
    import kvtrace
    from kvtrace.addons.tolerance.launched import TARGET

    return kvtrace.capture(
        folder / "trace", target=TARGET, device="cpu", compile="ttir", tensors="none", source="off"
    )


def partner(pipe: Connection, part: str, stand_in: bool) -> None:
    """Answer cases and seeds with results of the GPU."""
    from benchmarks.invariance.device import first_configuration
    from benchmarks.tolerance_cases import called, inputs

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with evaluating(folder) if stand_in else nullcontext():
            if not stand_in:
                first_configuration()
            loading = Loading(folder, part)
            while (asked := pipe.recv()) is not None:
                at, seed = asked
                try:
                    case = loading.cases[at]
                    found = called(case, loading.module(at), inputs(case, seed))
                    pipe.send(found.double().cpu().numpy())
                except Exception as error:  # reported and counted
                    pipe.send(f"on the device: {told(error)}")


def told(error: Exception) -> str:
    """Say what an error is, and where."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    text = (str(error).strip().splitlines() or [""])[0][:300]
    return f"{type(error).__name__}: {text} ({place.filename}:{place.lineno})"


def worker(pipe: Connection, taken: Any, results: Any, options: argparse.Namespace) -> None:
    """Derive bounds of the cases and seeds that are next, and compare the partner's results."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scratch, evaluating(Path(scratch)):
        loading = Loading(Path(scratch), options.only)
        while time.time() < options.until:
            with taken.get_lock():
                number = taken.value
                taken.value += 1
            block, at = divmod(number, len(loading.cases))
            if block * BLOCK >= options.seeds:
                break
            first = options.first + block * BLOCK
            last = min(first + BLOCK, options.first + options.seeds)
            for seed in range(first, last):
                results.put((at, seed, outcome(loading, at, seed, pipe)))
                if time.time() >= options.until:
                    break
    pipe.send(None)


def outcome(loading: Loading, at: int, seed: int, pipe: Connection) -> dict[str, Any]:
    """Compare one launch with the bounds of its inputs."""
    from benchmarks.tolerance_cases import derived_for, run
    from kvtrace.addons.tolerance.testing import compared

    case = loading.cases[at]
    pipe.send((at, seed))
    try:
        ran = run(case, loading.module(at), seed)
        derived, output = derived_for(case, ran)
    except Exception as error:  # reported and counted
        pipe.recv()
        return {"failed": told(error)}
    actual = pipe.recv()
    if isinstance(actual, str):
        return {"failed": actual}
    difference = compared(actual, derived, output, "probable")
    radius = output.radius()
    known = np.isfinite(radius) & (radius > 0)
    away = np.abs(actual.reshape(radius.shape) - output.expected)[known]
    return {
        "beyond": str(difference) if difference is not None else "; ".join(derived.refused),
        "by hand": not case.hand.passes(actual, ran.wanted),
        "nearest": float((away / radius[known]).max(initial=0.0)),
        "looser": case.hand.times_looser(output),
        "elements": int(radius.size),
        "undecided": output.undecided,
        "same bits": bool(np.array_equal(actual, ran.actual, equal_nan=True)),
    }


def started(options: argparse.Namespace, taken: Any, results: Any) -> list[Any]:
    """Start workers with their partners: `taken` counts blocks, `results` takes what is found."""
    workers = []
    for _ in range(options.workers):
        ours, theirs = _spawning.Pipe()
        beside = _spawning.Process(
            target=partner, args=(theirs, options.only, options.stand_in), daemon=True
        )
        beside.start()
        seen = os.environ.get("CUDA_VISIBLE_DEVICES")
        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # the worker's launches belong to the evaluator
        one = _spawning.Process(target=worker, args=(ours, taken, results, options), daemon=True)
        one.start()
        if seen is None:
            del os.environ["CUDA_VISIBLE_DEVICES"]
        else:
            os.environ["CUDA_VISIBLE_DEVICES"] = seen
        workers.append(one)
    return workers


def gathered(workers: list[Any], results: Any, names: list[str]) -> dict[str, dict[str, Any]]:
    """Sum up what the workers find, by case."""
    rows: dict[str, dict[str, Any]] = {
        name: {"seeds": 0, "beyond": 0, "by hand": 0, "failed": 0, "undecided": 0, "elements": 0,
               "same bits": 0, "nearest": 0.0, "looser": [], "told": []}
        for name in names
    }  # fmt: skip
    while any(one.is_alive() for one in workers) or not results.empty():
        try:
            at, seed, found = results.get(timeout=1)
        except Empty:
            continue
        row = rows[names[at]]
        row["seeds"] += 1
        if found.get("failed") or found.get("beyond"):
            row["failed" if found.get("failed") else "beyond"] += 1
            if len(row["told"]) < 3:
                row["told"].append(f"seed {seed}: {found.get('failed') or found['beyond']}")
                print(f"{names[at]}, {row['told'][-1]}", flush=True)
        if found.get("failed"):
            continue
        for key in ("by hand", "undecided", "elements", "same bits"):
            row[key] += found[key]
        row["nearest"] = max(row["nearest"], found["nearest"])
        row["looser"].append(found["looser"])
    for row in rows.values():
        row["looser"] = float(np.median(row["looser"])) if row["looser"] else 0.0
    return rows


def main() -> int:
    """Run all; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="where all figures are written")
    parser.add_argument("--seeds", type=int, default=10_000, help="of each case, at most")
    parser.add_argument("--first", type=int, default=0, help="the first seed: to continue a run")
    parser.add_argument("--limit", type=float, default=400, help="seconds for all cases")
    parser.add_argument("--workers", type=int, default=10)
    parser.add_argument("--only", default="", help="cases whose names contain this")
    parser.add_argument("--stand-in", action="store_true", help="do without a GPU")
    options = parser.parse_args()
    if not options.stand_in and not torch.cuda.is_available():
        print("there is no GPU here", file=sys.stderr)
        return 1
    from benchmarks.tolerances import chosen_cases

    names = [case.name for case in chosen_cases(options.only)]
    begun = time.time()
    options.until = begun + options.limit
    taken, results = _spawning.Value("q", 0), _spawning.Queue()
    workers = started(options, taken, results)
    rows = gathered(workers, results, names)
    died = sum(one.exitcode != 0 for one in workers)
    for name, row in rows.items():
        print(
            f"{name:38} {row['seeds']:6} seeds, beyond {row['beyond']}, by hand {row['by hand']}, "
            f"nearest {row['nearest']:5.3f}, looser {row['looser']:9.3g}, "
            f"undecided {row['undecided']}, same bits {row['same bits']}, failed {row['failed']}"
        )
    total = {
        key: sum(row[key] for row in rows.values())
        for key in ("seeds", "elements", "beyond", "by hand", "failed", "undecided")
    }
    least = min(row["seeds"] for row in rows.values())
    tighter = sum(row["looser"] > 1 for row in rows.values())
    device = "the evaluator" if options.stand_in else torch.cuda.get_device_name()
    print(
        f"{device}, torch {torch.__version__}: {len(rows)} cases, derived tighter in {tighter}; "
        f"{total['seeds']:,} seeds ({least:,} or more a case), "
        f"{total['elements']:,} elements, in {time.time() - begun:.0f} s: {total['beyond']} beyond "
        f"their bounds, {total['by hand']} beyond those by hand, {total['failed']} failed"
    )
    options.out.write_text(
        json.dumps({"device": device, "total": total, "died": died, "rows": rows}, indent=1)
    )
    idle = [name for name, row in rows.items() if not row["seeds"]]
    if idle:
        print(f"without a seed: {', '.join(idle)}")
    if died:
        print(f"{died} of {len(workers)} workers ended before their time")
    return int(total["beyond"] + total["failed"] + len(idle) + died > 0)


if __name__ == "__main__":
    sys.exit(main())
